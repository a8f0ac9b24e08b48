"""A column of a simulated upstream's table."""

from dataclasses import dataclass

INTS = ("INT", "BIGINT")
ModelValue = int | str | None


@dataclass(frozen=True)
class ModelColumn:
    """`required` is NOT NULL."""

    name: str
    type: str
    required: bool = False
    default: ModelValue = None

    @property
    def sql(self) -> str:
        words = [f"`{self.name}`", self.type, "NOT NULL" if self.required else "NULL"]
        if self.default is not None:
            words.append(f"DEFAULT '{self.default}'")
        return " ".join(words)

    @property
    def initial(self) -> ModelValue:
        """Value in a row that existed before the column."""
        if self.default is not None or not self.required:
            return self.default
        return 0 if self.type in INTS else ""
