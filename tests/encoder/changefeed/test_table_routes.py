"""`target-schema` and `target-table` of dispatchers, which TiCDC has since 8.5.7.

The statements, as TiDB restores them, and what becomes of them, are of TiCDC's own tests
(v8.5.7, `pkg/routing/ddl_query_rewriter_test.go`), as far as they are statements of one table.
"""

import json
from typing import Any

import pytest
from support.golden_changes import happened
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.storage import StorageChangefeed
from ticdc_encoder.errors import ConfigError, DefinitionError
from ticdc_encoder.event import Ddl, RowChange, Table, Transaction
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.formats.registry import MemoryRegistry
from ticdc_encoder.sql.parser import parse_create_table, parse_ddl
from ticdc_encoder.sql.renamed import renamed

URI = "kafka://b/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
NEW: Any = {"version": "8.5.7", "new_architecture": True}


def prefixed(schema: str, table: str) -> tuple[str, str]:
    return f"x{schema}", f"x{table}" if table else ""


REWRITTEN = [
    (
        "CREATE TABLE `t1` (`id` INT,`student_id` INT,PRIMARY KEY(`id`),CONSTRAINT FOREIGN KEY "
        "(`student_id`) REFERENCES `t2`(`id`))",
        "CREATE TABLE `xtest`.`xt1` (`id` INT,`student_id` INT,PRIMARY KEY(`id`),CONSTRAINT "
        "FOREIGN KEY (`student_id`) REFERENCES `xtest`.`xt2`(`id`))",
    ),
    ("CREATE DATABASE `s1`", "CREATE DATABASE `xs1`"),
    ("CREATE DATABASE IF NOT EXISTS `s1`", "CREATE DATABASE IF NOT EXISTS `xs1`"),
    ("DROP DATABASE IF EXISTS `s1`", "DROP DATABASE IF EXISTS `xs1`"),
    ("ALTER DATABASE `s1` COLLATE = utf8mb4_bin", "ALTER DATABASE `xs1` COLLATE = utf8mb4_bin"),
    (
        "ALTER DATABASE COLLATE = utf8mb4_general_ci",
        "ALTER DATABASE COLLATE = utf8mb4_general_ci",
    ),
    ("DROP TABLE `Ss1`.`tT1`", "DROP TABLE `xSs1`.`xtT1`"),
    (
        "DROP TABLE IF EXISTS `s1`.`t1`, `s2`.`t2`, `xx`",
        "DROP TABLE IF EXISTS `xs1`.`xt1`, `xs2`.`xt2`, `xtest`.`xxx`",
    ),
    ("DROP VIEW `v`", "DROP VIEW `xtest`.`xv`"),
    ("CREATE TABLE `s1`.`t1` (`id` INT)", "CREATE TABLE `xs1`.`xt1` (`id` INT)"),
    (
        "CREATE TABLE IF NOT EXISTS `t` (`id` INT)",
        "CREATE TABLE IF NOT EXISTS `xtest`.`xt` (`id` INT)",
    ),
    ("CREATE TABLE `t1` LIKE `xx`.`t2`", "CREATE TABLE `xtest`.`xt1` LIKE `xxx`.`xt2`"),
    ("CREATE TABLE `s1`.`t1` LIKE `t2`", "CREATE TABLE `xs1`.`xt1` LIKE `xtest`.`xt2`"),
    ("TRUNCATE TABLE `s1`.`t1`", "TRUNCATE TABLE `xs1`.`xt1`"),
    ("TRUNCATE `t1`", "TRUNCATE `xtest`.`xt1`"),
    ("RENAME TABLE `s1`.`t1` TO `s2`.`t2`", "RENAME TABLE `xs1`.`xt1` TO `xs2`.`xt2`"),
    (
        "RENAME TABLE `t1` TO `t2`, `s1`.`t1` TO `t2`",
        "RENAME TABLE `xtest`.`xt1` TO `xtest`.`xt2`, `xs1`.`xt1` TO `xtest`.`xt2`",
    ),
    ("DROP INDEX `i1` ON `t1`", "DROP INDEX `i1` ON `xtest`.`xt1`"),
    (
        "CREATE UNIQUE INDEX `i1` ON `s1`.`t1` (`c1`)",
        "CREATE UNIQUE INDEX `i1` ON `xs1`.`xt1` (`c1`)",
    ),
    ("ALTER TABLE `t` RENAME AS `s2`.`u`", "ALTER TABLE `xtest`.`xt` RENAME AS `xs2`.`xu`"),
    (
        "ALTER TABLE `t` RENAME COLUMN `a` TO `b`",
        "ALTER TABLE `xtest`.`xt` RENAME COLUMN `a` TO `b`",
    ),
    ("ALTER TABLE `t` RENAME INDEX `a` TO `b`", "ALTER TABLE `xtest`.`xt` RENAME INDEX `a` TO `b`"),
    (
        "ALTER TABLE `t` EXCHANGE PARTITION `p0` WITH TABLE `u` WITHOUT VALIDATION",
        "ALTER TABLE `xtest`.`xt` EXCHANGE PARTITION `p0` WITH TABLE `xtest`.`xu` "
        "WITHOUT VALIDATION",
    ),
    (
        "ALTER TABLE `t` ADD CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `s2`.`u`(`id`)",
        "ALTER TABLE `xtest`.`xt` ADD CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `xs2`.`xu`(`id`)",
    ),
    # Names, texts and comments that look like the statement's own words.
    (
        "CREATE TABLE `table` (`like` INT /*T![clustered_index] CLUSTERED */ COMMENT 'LIKE `t`',"
        "`references` ENUM('a\\','TABLE `x`'),`a``b` INT) COMMENT = 'REFERENCES \\'",
        "CREATE TABLE `xtest`.`xtable` (`like` INT /*T![clustered_index] CLUSTERED */ COMMENT "
        "'LIKE `t`',`references` ENUM('a\\','TABLE `x`'),`a``b` INT) COMMENT = 'REFERENCES \\'",
    ),
    ("DROP TABLE `a``b`.`c``d`", "DROP TABLE `xa``b`.`xc``d`"),
    ("alter table s1 . t add column c int", "alter table `xs1`.`xt` add column c int"),
    ("FLASHBACK CLUSTER TO TIMESTAMP '2024-01-01'", "FLASHBACK CLUSTER TO TIMESTAMP '2024-01-01'"),
]


@pytest.mark.parametrize(("query", "expected"), REWRITTEN)
def test_every_name_of_a_statement_is_routed(query: str, expected: str) -> None:
    assert renamed(query, "test", prefixed) == expected


def test_all_names_are_qualified_if_one_changes_else_none() -> None:
    def only_t(schema: str, table: str) -> tuple[str, str]:
        return (schema, "moved") if table == "t" else (schema, table)

    query = "CREATE TABLE `u` LIKE `t`"
    assert renamed(query, "s", only_t) == "CREATE TABLE `s`.`u` LIKE `s`.`moved`"
    assert renamed("DROP TABLE `u`", "s", only_t) == "DROP TABLE `u`"
    assert renamed("DROP TABLE u, v", "s", only_t) == "DROP TABLE u, v"


def test_every_golden_ddl_is_the_same_statement_there_and_back() -> None:
    def unprefixed(schema: str, table: str) -> tuple[str, str]:
        return schema[1:], table[1:]

    statements = [event for event in happened("ddl") if isinstance(event, Ddl)]
    tables = [ddl for ddl in statements if " VIEW " not in ddl.query]
    assert len(tables) > 100
    for ddl in tables:
        routed = renamed(ddl.query, ddl.schema, prefixed)
        assert routed != ddl.query
        back = renamed(routed, f"x{ddl.schema}", unprefixed)
        assert parse_ddl(back, ddl.schema) == parse_ddl(ddl.query, ddl.schema)
        assert renamed(ddl.query, ddl.schema, lambda *name: name) == ddl.query


def test_a_view_is_refused_for_its_select_is_not_read() -> None:
    with pytest.raises(DefinitionError, match="CREATE VIEW is not supported beside table routes"):
        renamed("CREATE ALGORITHM = MERGE VIEW `v` AS SELECT 1 AS `a`", "s", prefixed)


# A changefeed.

ORDERS = parse_create_table("create table orders (id int primary key, v int)", "sales")
CREATE = "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`v` INT)"
ROW = Transaction(6, (RowChange(ORDERS, 6, None, {"id": 1, "v": 2}),))


def routing(*entries: dict[str, Any], **sink: Any) -> dict[str, Any]:
    return {"sink": {"dispatchers": [{"matcher": ["*.*"], **entry} for entry in entries], **sink}}


def named(message: Any) -> tuple[str, str, str]:
    value = json.loads(message.value or b"")
    return value["database"], value["table"], value["sql"]


TARGETS = [
    ([{"target-schema": "sales_bak"}], ("sales_bak", "orders")),
    ([{"target-schema": "{schema}_bak"}], ("sales_bak", "orders")),
    ([{"target-table": "{schema}_{table}"}], ("sales", "sales_orders")),
    ([{"target-schema": "a", "target-table": "{table}{table}"}], ("a", "ordersorders")),
    # The first with a target decides, also where another one decides on the topic.
    ([{"topic": "x"}, {"target-table": "o"}, {"target-table": "p"}], ("sales", "o")),
    ([{"matcher": ["other.*"], "target-table": "o"}], ("sales", "orders")),
    ([{"matcher": ["SALES.*"], "target-table": "o"}], ("sales", "o")),
]


@pytest.mark.parametrize(("entries", "expected"), TARGETS)
def test_rows_and_ddl_carry_the_target(
    entries: list[dict[str, Any]], expected: tuple[str, str]
) -> None:
    changefeed = Changefeed(URI, routing(*entries), **NEW)
    (created,) = changefeed.ddl(Ddl("sales", "orders", CREATE, 5, 3))
    (row,) = changefeed.encode(ROW)
    schema, table = expected
    routed = CREATE.replace("`orders`", f"`{schema}`.`{table}`")
    query = CREATE if expected == ("sales", "orders") else routed
    assert named(created) == (schema, table, query)
    assert named(row) == (schema, table, "")


def test_topics_partitions_and_filters_go_by_the_upstreams_names() -> None:
    entry = {"topic": "{schema}_{table}", "target-schema": "a", "target-table": "b_{table}"}
    config = routing(entry) | {"filter": {"rules": ["sales.*"]}}
    uri = URI.replace("partition-num=1", "partition-num=64")
    (plain,) = Changefeed(uri, routing({"topic": "{schema}_{table}"}), **NEW).encode(ROW)
    changefeed = Changefeed(uri, config, **NEW)
    (row,) = changefeed.encode(ROW)
    assert (row.topic, row.partition) == ("sales_orders", plain.partition)
    assert named(row)[:2] == ("a", "b_orders")
    (created, *_) = changefeed.ddl(
        Ddl("sales", "more", "CREATE TABLE `more` (`id` INT PRIMARY KEY)", 7)
    )
    assert created.topic == "sales_more"


@pytest.mark.parametrize("protocol", sorted(FORMATS.keys() - {"csv"}))
def test_every_protocol_tells_the_target_alone(protocol: str) -> None:
    uri = URI.replace("canal-json", protocol)
    config = routing({"target-schema": "archive", "target-table": "past"})
    if protocol == "avro":
        uri += "&avro-enable-watermark=true"
    registry = MemoryRegistry()
    changefeed = Changefeed(uri, config, "9.0.0", new_architecture=True, registry=registry)
    sent = [*changefeed.ddl(Ddl("sales", "orders", CREATE, 5, 3)), *changefeed.encode(ROW)]
    sent += changefeed.flush()
    assert sent
    for message in sent:
        assert b"sales" not in (message.key or b"") + (message.value or b"")
        assert b"orders" not in (message.key or b"") + (message.value or b"")
    texts = b"".join((m.key or b"") + (m.value or b"") for m in sent)
    schemas = "".join(map(str, vars(registry).values()))
    assert b"archive" in texts or "archive" in schemas


def test_ddl_of_schemas_follow_and_an_ambiguous_one_is_an_error() -> None:
    changefeed = Changefeed(URI, routing({"target-schema": "{schema}_bak"}), **NEW)
    (created,) = changefeed.ddl(Ddl("sales", "", "CREATE DATABASE `sales`", 5, 1))
    assert named(created) == ("sales_bak", "", "CREATE DATABASE `sales_bak`")
    two = routing({"matcher": ["sales.a"], "target-schema": "x"}, {"target-schema": "y"})
    with pytest.raises(DefinitionError, match="schema sales is routed to x and to y"):
        Changefeed(URI, two, **NEW).ddl(Ddl("sales", "", "CREATE DATABASE `sales`", 5, 1))


def table(name: str) -> Table:
    return parse_create_table(f"create table {name} (id int primary key)", name.split(".")[0])


def inserted(of: Table) -> Transaction:
    return Transaction(9, (RowChange(of, 9, None, {"id": 1}),))


def test_two_tables_of_one_name_are_an_error_while_both_exist() -> None:
    changefeed = Changefeed(URI, routing({"target-schema": "all"}), **NEW)
    changefeed.encode(inserted(table("s1.t")))
    with pytest.raises(DefinitionError, match=r"s1\.t and s2\.t are both routed to all\.t"):
        changefeed.encode(inserted(table("s2.t")))
    changefeed.ddl(Ddl("s1", "t", "DROP TABLE `t`", 10, 4))
    changefeed.encode(inserted(table("s2.t")))
    rename = Ddl("s2", "u", "RENAME TABLE `s2`.`t` TO `s2`.`u`", 11, 14)
    (renames,) = changefeed.ddl(rename)
    assert named(renames) == ("all", "u", "RENAME TABLE `all`.`t` TO `all`.`u`")
    changefeed.encode(inserted(table("s1.t")))
    changefeed.ddl(Ddl("s1", "", "DROP DATABASE `s1`", 12, 2))
    changefeed.encode(inserted(table("s3.t")))


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"target-schema": "{db}"},
        NEW,
        "target-schema '{db}' must contain only literal text, {schema}",
    ),
    ({"target-table": "{"}, NEW, "target-table '{' must contain only"),
    ({"target-table": 5}, NEW, "target-table must be of type str"),
    (
        {"target-schema": "x"},
        {"version": "8.5.7"},
        "target-schema needs TiCDC's new architecture, of 8.5.7 or later: this is the old one "
        "of 8.5.7",
    ),
    (
        {"target-table": "x"},
        {"version": "8.5.6", "new_architecture": True},
        "of 8.5.7 or later: this is the new one of 8.5.6",
    ),
    (
        {"target-table": "x"},
        {"version": "8.5.7-release.1", "new_architecture": True},
        "of 8.5.7 or later: this is the new one of 8.5.7-release.1",
    ),
    (
        {"target-table": "x"},
        {"version": "26.3.4", "new_architecture": True},
        "TiCDC 26.3.4, which is TiDB X's, has no target-table",
    ),
    # Proposed, and not merged.
    (
        {"topic": "{column:region}"},
        NEW,
        "no release of TiCDC has {column:...} in topics (pingcap/ticdc#4340)",
    ),
]


@pytest.mark.parametrize(("entry", "made", "message"), REFUSED)
def test_what_a_release_does_not_have_is_refused(
    entry: dict[str, Any], made: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Changefeed(URI, routing(entry), **made)
    assert message in str(caught.value)


def test_cloud_storage_has_them_since_the_same_release() -> None:
    config = routing({"target-schema": "x"})
    with pytest.raises(ConfigError, match="target-schema needs TiCDC's new architecture"):
        StorageChangefeed("s3://b/p?protocol=csv", config, "8.5.6", new_architecture=True)
    StorageChangefeed("s3://b/p?protocol=csv", config, **NEW)
    StorageChangefeed("s3://b/p?protocol=csv", routing({"topic": "x"}), "8.5.6")
