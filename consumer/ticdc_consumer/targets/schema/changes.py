"""What a change of a column's type does to its values, and which values it does not take."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Appended:
    """The text form gets a suffix."""

    suffix: str


@dataclass(frozen=True, slots=True)
class Padded:
    """Shorter binary values get zero bytes at their end, until they are as long."""

    width: int


@dataclass(frozen=True, slots=True)
class Widened:
    """A float32 becomes the same double, whatever shorter decimal the target has for it."""


@dataclass(frozen=True, slots=True)
class Stripped:
    """Text loses the spaces at its end."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """A date with time, or a time, keeps so many digits of the second: halves go to the later one,
    as -00:00:00.5 to 00:00:00."""

    digits: int


@dataclass(frozen=True, slots=True)
class OnlyDate:
    """Of a date with time the date, whatever the time is."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A date or time becomes TiDB's text of it, with so many digits of the second."""

    digits: int


@dataclass(frozen=True, slots=True)
class Digits:
    """A date or time becomes the number that its digits are: 20240229101112."""


@dataclass(frozen=True, slots=True)
class Quantized:
    """A DECIMAL keeps so many digits after the point; halves go away from zero."""

    digits: int


@dataclass(frozen=True, slots=True)
class Approximated:
    """A DECIMAL becomes the nearest double; and `single` the float32 that is nearest to that."""

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
    """Text of more characters, or bytes of more, than `length`. `stripped`: the spaces at its end
    do not count."""

    length: int
    stripped: bool = False


@dataclass(frozen=True, slots=True)
class LongerInBytes:
    """Text of more bytes of UTF-8."""

    length: int


@dataclass(frozen=True, slots=True)
class IsNull:
    pass


@dataclass(frozen=True, slots=True)
class Unroundable:
    """A time with a fraction of a second, of a date that no calendar has, as 2024-00-10, or after
    the last second of the type."""

    last: str


@dataclass(frozen=True, slots=True)
class NegativeHalf:
    """A time below zero in the middle between two of so many digits of the second."""

    digits: int


@dataclass(frozen=True, slots=True)
class Fraction:
    """A time with more than whole seconds."""


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
"""What the values meet of which it is not known what TiDB makes of them."""
