import pytest
from ticdc_consumer.targets.mysql.names_case import NamesCase, NamesFold

CASES = [
    (NamesCase.DIFFERENT, "Orders", "Orders", "Orders"),
    (NamesCase.LOWERED, "Orders", "orders", "orders"),
    (NamesCase.KEPT, "Orders", "orders", "Orders"),
    (NamesCase.LOWERED, "ÄPFEL", "äpfel", "äpfel"),
    (NamesCase.LOWERED, "İst", "ist", "ist"),  # Python's `lower` makes two letters of İ
]


@pytest.mark.parametrize(("case", "name", "comparable", "in_catalog"), CASES)
def test_names_are_compared_as_the_server_compares_them(
    case: NamesCase, name: str, comparable: str, in_catalog: str
) -> None:
    fold = NamesFold(case, lambda letters: "".join(letter.lower()[0] for letter in letters))
    assert (fold.comparable(name), fold.in_catalog(name)) == (comparable, in_catalog)


def test_the_server_is_asked_once_for_each_non_ascii_letter() -> None:
    asked: list[str] = []

    def lowered(letters: str) -> str:
        asked.append(letters)
        return letters.lower()

    fold = NamesFold(NamesCase.LOWERED, lowered)
    assert [fold.lower(name) for name in ("Ä", "AÄ", "Ö", "a")] == ["ä", "aä", "ö", "a"]
    assert asked == ["Ä", "Ö"]
