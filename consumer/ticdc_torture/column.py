"""A column of a simulated upstream's table."""

from dataclasses import dataclass

INTS = ("INT", "BIGINT")
EPOCH = "1970-01-01 00:00:00"
"""What CURRENT_TIMESTAMP gives in the first second of time."""

ModelValue = int | str | None


@dataclass(frozen=True)
class ModelColumn:
    """`required` is NOT NULL; a `default` of `EPOCH` is CURRENT_TIMESTAMP."""

    name: str
    type: str
    required: bool = False
    default: ModelValue = None

    @property
    def sql(self) -> str:
        words = [f"`{self.name}`", self.type, "NOT NULL" if self.required else "NULL"]
        if self.default == EPOCH:
            words.append("DEFAULT CURRENT_TIMESTAMP")
        elif self.default is not None:
            words.append(f"DEFAULT '{self.default}'")
        return " ".join(words)

    @property
    def initial(self) -> ModelValue:
        """What a row has that existed before the column."""
        if self.default is not None or not self.required:
            return self.default
        return 0 if self.type in INTS else ""
