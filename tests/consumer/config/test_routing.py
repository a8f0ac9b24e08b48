"""Upstream names -> target names."""

import pytest
from ticdc_consumer.config.routing import Routes
from ticdc_encoder.errors import ConfigError

CASES = [
    ("no rule leaves a name alone", {}, ("shop", "Orders"), ("shop", "Orders")),
    ("a schema is renamed", {"shop.*": "store.{table}"}, ("shop", "Orders"), ("store", "Orders")),
    ("others stay", {"shop.*": "store.{table}"}, ("bank", "orders"), ("bank", "orders")),
    ("both in one part", {"*.*": "all.{schema}_{table}"}, ("a", "b"), ("all", "a_b")),
    ("a literal", {"shop.orders": "old.orders_2024"}, ("shop", "orders"), ("old", "orders_2024")),
    ("the first wins", {"a.b": "x.y", "a.*": "z.{table}"}, ("a", "b"), ("x", "y")),
    ("case is not heeded", {"SHOP.*": "store.{table}"}, ("shop", "o"), ("store", "o")),
    ("a quoted dot", {"a.b": '"x.1"."{table}.2"'}, ("a", "b"), ("x.1", "b.2")),
    ("a quoted quote", {"a.b": '"x""y".`z``w`'}, ("a", "b"), ('x"y', "z`w")),
    ("names with braces are text", {"*.*": "x.{table}"}, ("s", "{schema}"), ("x", "{schema}")),
    ("a schema alone", {"shop.*": "store.{table}"}, ("shop", ""), ("store", "")),
    ("a schema of one routed table", {"shop.t": "store.t"}, ("shop", ""), ("shop", "")),
]


@pytest.mark.parametrize(
    ("route", "name", "routed"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_name_is_routed(
    route: dict[str, str], name: tuple[str, str], routed: tuple[str, str]
) -> None:
    assert Routes(route)(*name) == routed


def test_case_is_heeded_where_the_filter_heeds_it() -> None:
    routes = Routes({"SHOP.*": "store.{table}"}, case_sensitive=True)
    assert routes("shop", "orders") == ("shop", "orders")


@pytest.mark.parametrize(
    ("pattern", "template", "words"),
    [
        ("shop.*", "store", "is not schema.table"),
        ("shop.*", "a.b.c", "is not schema.table"),
        ("shop.*", ".b", "is not schema.table"),
        ("shop.*", "a.{tabel}", "'{tabel}' is neither {schema} nor {table}"),
        ("shop.*", "a.{table", "'{table' is neither"),
        ("shop", "a.b", "no '.' between schema and table"),
        ("!shop.*", "a.b", "is not a pattern of names"),
        ("@rules.txt", "a.b", "is not a pattern of names"),
    ],
)
def test_a_wrong_route_is_told(pattern: str, template: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace(".", r"\.").replace("{", r"\{")):
        Routes({pattern: template})
