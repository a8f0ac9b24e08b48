import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.filters.table import TableFilter, TableMatcher

CASES = [
    (["*.*"], "test.t yes, mysql.user no, sys.t no, INFORMATION_SCHEMA.t no, metrics_schema.t no"),
    ([], "test.t yes, mysql.user no"),
    (["test.*"], "test.t yes, TEST.T yes, test2.t no"),
    (["test.*", "!test.t"], "test.t no, test.u yes"),
    (["!test.t", "test.*"], "test.t yes"),
    (["!test.t"], "test.t no, test.u no"),
    (["*.*", "!*.tmp_*", "*.tmp_keep"], "a.tmp_1 no, a.tmp_keep yes, a.t yes"),
    (["db?.t[0-9]"], "db1.t7 yes, db12.t7 no, db1.tx no, db😀.t0 yes"),
    (["db.t[!0-9]"], "db.tx yes, db.t7 no"),
    (["db.t[^x]"], "db.t^ yes, db.tx yes, db.ty no"),
    (["db.t[a&&b[]"], "db.t& yes, db.t[ yes, db.tc no"),
    ([r"db.t\*"], "db.t* yes, db.tt no"),
    ([r"d\.b.t"], "d.b.t yes, d_b.t no"),
    (['"d.b"."a""b*"'], 'd.b.a"b* yes, d.b.a"bc no'),
    (["`we``ird`.`*`"], "we`ird.* yes, we`ird.x no"),
    (["/^db/./[0-9]$/"], "db_x.t1 yes, xdb.t1 no, db.tx no"),
    ([r"/a\/b/.*"], "xa/by.t yes, ab.t no"),
    (["# a comment", "", "  db.t\t"], "db.t yes"),
    (["数据.表*"], "数据.表1 yes, 数据.x no"),
]


def table_names(text: str) -> list[tuple[str, str, bool]]:
    cases = []
    for case in text.split(", "):
        name, answer = case.rsplit(" ", 1)
        schema, table = name.rsplit(".", 1)
        cases.append((schema, table, answer == "yes"))
    return cases


@pytest.mark.parametrize(("rules", "expected"), CASES)
def test_the_last_matching_rule_decides(rules: list[str], expected: str) -> None:
    table_filter = TableFilter(rules)
    for schema, table, answer in table_names(expected):
        assert table_filter.matches(schema, table) is answer, (schema, table)


def test_case_counts_only_where_asked() -> None:
    assert TableFilter(["Db.T"], case_sensitive=True).matches("Db", "T")
    assert not TableFilter(["Db.T"], case_sensitive=True).matches("db", "t")
    assert TableFilter(["Db.T"]).matches("dB", "t")
    assert TableFilter(["/^DB$/.t"]).matches("db", "t")


def test_a_schema_matches_where_one_of_its_tables_may() -> None:
    rules = TableFilter(["shop.orders", "!temp.*", "!bank.audit"])
    assert rules.matches_schema("shop")
    assert not rules.matches_schema("temp")
    assert not rules.matches_schema("bank")
    assert TableFilter(["*.*", "!bank.audit"]).matches_schema("bank")
    assert not TableFilter(["*.*", "!bank.*"]).matches_schema("bank")
    assert not TableFilter(["*.*"]).matches_schema("mysql")
    assert not TableFilter(["*.*"]).matches("tidb_cdc", "syncpoint_v1")


def test_a_name_matches_where_it_may_in_some_schema() -> None:
    rules = TableFilter(["shop.orders", "bank.*", "!bank.audit", "!*.temp"])
    assert rules.matches_name("orders")
    assert rules.matches_name("anything")
    assert rules.matches_name("audit")
    assert not rules.matches_name("temp")
    assert not TableFilter(["shop.orders"]).matches_name("items")


def test_a_matcher_knows_no_system_schemas_and_needs_a_pattern() -> None:
    assert TableMatcher(["*.*"]).matches("mysql", "user")
    assert not TableMatcher([]).matches("a", "b")


GO = [
    (r"^\w+$", "ab_1", True),
    (r"^\w+$", "数据", False),
    (r"^\W+$", "数据", True),
    (r"^t\d$", "t1", True),
    (r"^t\d$", "t٣", False),
    (r"^[\w-]+$", "a-b", True),
    (r"^[\w-]+$", "é", False),
    (r"^[]\d]+$", "1]", True),
    (r"\bb", "éb", True),
    (r"a\z", "a", True),
    (r"a\z", "ab", False),
    (r"^[*+]+$", "*+", True),
    (r"^\(\?=\++$", "(?=++", True),
    (r"^\\d$", r"\d", True),
]


@pytest.mark.parametrize(("expression", "name", "matches"), GO)
def test_a_regular_expression_means_what_it_means_in_go(
    expression: str, name: str, matches: bool
) -> None:
    assert TableMatcher([f"/{expression}/.*"]).matches(name, "t") is matches


def test_no_expression_takes_longer_than_its_text_is_long() -> None:
    # With Python's own expressions 2 ** 60 steps, or 300 ** 4.
    assert not TableMatcher(["/^(a+)+$/.*"]).matches("a" * 60 + "!", "t")
    assert not TableMatcher([f"{'*a' * 20}.*"]).matches("a" * 300 + "!", "t")


@pytest.mark.parametrize(
    ("rule", "name", "matches"),
    [
        (r"/^a\/b$/.*", "a/b", True),
        (r"/^a\\/.*", "a\\x", True),
        (r"/^b|a\/.*", "b", None),
        ("/" + r"b\.ips" * 40 + "..*", "b", None),
    ],
)
def test_a_regular_expression_ends_at_an_unescaped_slash(
    rule: str, name: str, matches: bool | None
) -> None:
    if matches is None:
        with pytest.raises(ConfigError):
            TableMatcher([rule])
    else:
        assert TableMatcher([rule]).matches(name, "t") is matches


@given(st.text(), st.text())
def test_a_quoted_name_matches_itself_alone(name: str, other: str) -> None:
    assume(name)
    matcher = TableMatcher([f'"{name.replace(chr(34), chr(34) * 2)}".*'], case_sensitive=True)
    assert matcher.matches(name, "t")
    assert matcher.matches(other, "t") == (other == name)


def test_a_filter_can_be_sent_to_a_task() -> None:
    sent = pickle.loads(pickle.dumps(TableFilter(["/^A/.*"])))
    assert sent.matches("ab", "t") and not sent.matches("b", "t")


def test_rules_come_from_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rules = tmp_path / "rules.txt"
    rules.write_text("# ours\n\n db.* \n!db.x\n", encoding="utf-8")
    imported = TableFilter([f"@{rules}", "other.t"])
    assert imported.matches("db", "t")
    assert imported.matches("other", "t")
    assert not imported.matches("db", "x")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("db", "no '.' between schema and table; in the filter rule 'db'"),
        ("db.", "a pattern is missing"),
        ("db.t.x", "stray '.x' after the table"),
        ("db.t x", "unexpected ' '"),
        ("/db.t", "an open regular expression"),
        ('"db.t', "an open quote"),
        ("db.[", "unexpected '['"),
        (r"db.\t", "escapes nothing"),
        ("db.t\\", "escapes nothing"),
        ("/(/.t", "not a regular expression that Go reads: missing ): (; in the filter rule"),
        ("/(?!a)/.t", "invalid perl operator: (?!"),
        ("/(?<=a)b/.t", "invalid perl operator: (?<="),
        (r"/(a)\1/.t", r"invalid escape sequence: \1"),
        ("/a++/.t", "bad repetition operator: ++"),
        ("/a{2}+/.t", "bad repetition operator: {2}+"),
        (r"/a\C/.t", r"not a regular expression that Go reads: \C"),
        ("/a\udcff/.t", "not a regular expression that Go reads: not UTF-8"),
        ("@a\0b", "cannot read the filter file"),
        ("@/no/such/file", "cannot read the filter file '/no/such/file'"),
    ],
)
def test_a_malformed_rule_is_named(rule: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TableFilter([rule])
    assert message in str(caught.value)


def test_a_filter_file_imports_no_other(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rules = tmp_path / "rules.txt"
    rules.write_text("@other\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot import another"):
        TableFilter([f"@{rules}"])
