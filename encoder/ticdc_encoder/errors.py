"""What can go wrong, from one root.

    TicdcError
        WireError                   bytes that the protocol does not allow
            MissingCommitTs         (formats.format) a message without a commit_ts
        DefinitionError             a table definition, or a value for its columns, that cannot be
        ConfigError                 a setting that is unknown, malformed or contradicts another
        MessageTooLarge             (formats.format) a row beyond max-message-bytes
        RegistryError               (formats.registry) a schema registry that fails
        ClaimCheckError             (formats.claim_check) a claim check's file that fails
        ProduceError                brokers that do not take a message or a topic
        TopicError                  a topic that cannot be read

`ticdc_encoder` exports all of them.
"""


class TicdcError(Exception):
    """The root of all errors of this project: one sentence, without a row's contents.

    Whoever knows the position (topic, partition, offset) adds it with `add_note`.
    """

    def __str__(self) -> str:
        return "; ".join([super().__str__(), *getattr(self, "__notes__", ())])


class WireError(TicdcError):
    """Bytes that the protocol does not allow."""


class DefinitionError(TicdcError):
    """A table definition, or a value for one of its columns, that cannot be."""


class ConfigError(TicdcError):
    """A setting that is unknown, malformed or contradicts another."""


class ProduceError(TicdcError):
    """A message that the broker did not take, or a topic that is not as requested."""


class TopicError(TicdcError):
    """A topic that cannot be read."""

    exit_code = 1
