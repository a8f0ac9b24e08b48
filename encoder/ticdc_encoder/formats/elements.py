"""Members of ENUM and SET: their names, and the number or mask that a value holds."""

import re
from collections.abc import Callable, Iterable

from ticdc_encoder.event import Value
from ticdc_encoder.values import integer

MemberReader = Callable[[str], int]


def member(elements: tuple[str, ...], value: Value) -> str:
    """An ENUM's member. Raises ValueError for 0, the invalid '', for which TiCDC stops."""
    number = integer(value)
    if not 0 < number <= len(elements):
        raise ValueError("not one of the members")
    return elements[number - 1]


def members(elements: tuple[str, ...], value: Value) -> str:
    """A SET's members, joined in their order. Raises ValueError for a bit without a member."""
    mask = integer(value)
    if not 0 <= mask < 1 << len(elements):
        raise ValueError("a bit without a member")
    return ",".join([name for bit, name in enumerate(elements) if mask >> bit & 1])


def enum_reader(elements: tuple[str, ...]) -> MemberReader:
    """A function from a member's name to its number; names are compared as `allowed` lists them.
    It raises ValueError for a name that is not a member's."""
    numbers = _numbers(elements)

    def number(name: str) -> int:
        try:
            return numbers[escaped(name)]
        except KeyError:
            raise ValueError("not one of the members") from None

    return number


def set_reader(elements: tuple[str, ...]) -> MemberReader:
    """A function from the names of a SET's members to their mask. It raises ValueError for a name
    that is not a member's."""
    numbers = _numbers(elements)

    def mask(names: str) -> int:
        try:
            bits = [numbers[escaped(name)] - 1 for name in names.split(",")] if names else []
        except KeyError:
            raise ValueError("a name that is not a member's") from None
        return sum({1 << bit for bit in bits})

    return mask


def _numbers(elements: tuple[str, ...]) -> dict[str, int]:
    """Numbers by escaped name. Two members that are equal once escaped have none."""
    names = [escaped(element) for element in elements]
    return {name: n for n, name in enumerate(names, 1) if names.count(name) == 1}


# The parameter `allowed` of Kafka Connect's schemas.


def allowed(elements: Iterable[str]) -> str:
    """All members in one text."""
    return ",".join(map(escaped, elements))


def escaped(element: str) -> str:
    """A member as `allowed` lists it. It is not always reversible."""
    return element.replace(",", "\\,").replace("\\'", "'").replace("''", "'")


def elements_of(listed: str) -> tuple[str, ...]:
    """The members that `allowed` lists, with commas unescaped."""
    parts = re.split(r"(?<!\\),", listed)
    return tuple(part.replace("\\,", ",") for part in parts)
