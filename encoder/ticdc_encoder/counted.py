"""Numbers of things, in messages for people."""


def counted(number: int, what: str) -> str:
    """The number with its noun: `1 row`, `2,000 rows`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
