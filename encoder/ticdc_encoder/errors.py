"""What can go wrong, from one root."""


class TicdcError(Exception):
    """The root of all errors of this project: one sentence, without a row's contents.

    Whoever knows the place (topic, partition, offset) adds it with `add_note`.
    """

    def __str__(self) -> str:
        return "; ".join([super().__str__(), *getattr(self, "__notes__", ())])


class WireError(TicdcError):
    """Bytes that are not what the protocol says."""


class DefinitionError(TicdcError):
    """A table definition, or a value for one of its columns, that cannot be."""


class ConfigError(TicdcError):
    """A setting that is unknown, malformed or contradicts another."""
