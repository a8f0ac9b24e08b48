"""Changes of a column's type: their effect on its values, and the values that they refuse."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Appended:
    """The text form gets a suffix."""

    suffix: str


@dataclass(frozen=True, slots=True)
class Padded:
    """Shorter binary values are padded with zero bytes to `width` bytes."""

    width: int


@dataclass(frozen=True, slots=True)
class Widened:
    """A float32 becomes the same double, even if the target has a shorter decimal for it."""


@dataclass(frozen=True, slots=True)
class Stripped:
    """Text loses its trailing spaces."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """A date with time, or a time, keeps `digits` digits of the second: halves go to the later one,
    as -00:00:00.5 to 00:00:00."""

    digits: int


@dataclass(frozen=True, slots=True)
class OnlyDate:
    """A date with time becomes its date, whatever the time is."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A date or time becomes TiDB's text of it, with `digits` digits of the second."""

    digits: int


@dataclass(frozen=True, slots=True)
class Digits:
    """A date or time becomes the number with its digits: 20240229101112."""


@dataclass(frozen=True, slots=True)
class Quantized:
    """A DECIMAL keeps `digits` digits after the point; halves round away from zero."""

    digits: int


@dataclass(frozen=True, slots=True)
class Approximated:
    """A DECIMAL becomes the nearest double; with `single`, the float32 nearest to that."""

    single: bool


Change = (
    Appended
    | Padded
    | Widened
    | Stripped
    | Rounded
    | OnlyDate
    | Spelled
    | Digits
    | Quantized
    | Approximated
)


@dataclass(frozen=True, slots=True)
class Below:
    """A number less than `least`."""

    least: int | Decimal


@dataclass(frozen=True, slots=True)
class Above:
    greatest: int | Decimal


@dataclass(frozen=True, slots=True)
class Longer:
    """Text of more characters, or binary of more bytes, than `length`. `stripped`: trailing spaces
    do not count."""

    length: int
    stripped: bool = False


@dataclass(frozen=True, slots=True)
class LongerInBytes:
    """Text of more than `length` bytes of UTF-8."""

    length: int


@dataclass(frozen=True, slots=True)
class IsNull:
    pass


@dataclass(frozen=True, slots=True)
class Unroundable:
    """A time with a fraction of a second whose date is in no calendar, such as 2024-00-10, or is
    after the last second of the type."""

    last: str


@dataclass(frozen=True, slots=True)
class NegativeHalf:
    """A negative time halfway between two with `digits` digits of the second."""

    digits: int


@dataclass(frozen=True, slots=True)
class Fraction:
    """A time with a fraction of a second."""


@dataclass(frozen=True, slots=True)
class LabelledOneOf:
    labels: tuple[str, ...]


Condition = (
    Below
    | Above
    | Longer
    | LongerInBytes
    | IsNull
    | Unroundable
    | NegativeHalf
    | Fraction
    | LabelledOneOf
)
"""The conditions on values for which TiDB's result is not known."""
