import json
import re
import tomllib
from collections import Counter
from dataclasses import replace
from datetime import date
from typing import Any
from zlib import crc32

import pytest
from support.golden import Variant, scenario
from support.golden_changes import happened, table_at
from support.golden_replay import made_by, sendable, sent_changes
from support.wire_vectors import vectors
from ticdc_encoder.changefeed.storage import StorageChangefeed, StorageFile
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, RowChange, Table, Transaction, Value
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.storage.layout import (
    FILE_FORMATS,
    METADATA,
    Directory,
    PathLayout,
    SchemaPath,
    checkpoint_ts,
    index_json,
    last_number,
    metadata_json,
)
from ticdc_encoder.storage.schema_file import SchemaFile, parse_schema_file, schema_file

VECTORS: dict[str, Any] = vectors("csv")
PATHS = VECTORS["12_paths"]


# Paths.


@pytest.mark.parametrize("case", PATHS["data_file"], ids=lambda case: str(case["path"]))
def test_data_files_are_found_by_their_path(case: dict[str, Any]) -> None:
    layout = PathLayout(date_separator=case["date_separator"], table_id_paths="table_id" in case)
    file = layout.data_file(case["path"])
    assert file is not None
    where = file.directory
    assert where == Directory(
        case.get("schema", ""),
        case.get("table", ""),
        case["version"],
        case["partition"],
        case["date"],
        case["dispatcher"],
        case.get("table_id"),
    )
    assert file.number == case["index"]
    digits = len(re.findall(r"\d+", case["path"])[-1])
    assert where.path + where.name(file.number, file.extension, digits) == case["path"]
    assert layout.index(case["path"]) is None
    assert layout.schema_path(case["path"]) is None


@pytest.mark.parametrize("case", PATHS["index_file"], ids=lambda case: str(case["path"]))
def test_an_index_names_the_last_file_of_its_directory(case: dict[str, Any]) -> None:
    layout = PathLayout(date_separator="day" if "2023" in case["path"] else "none")
    where = layout.index(case["path"])
    assert where is not None
    assert where.index_path == case["path"]
    number = last_number(case["content"].encode())
    assert number == 5
    assert index_json(where.name(number, "json", 6)).decode() == case["content"]
    assert where.name(number + 1, "json", 6) in case["next_file"]
    assert layout.data_file(case["path"]) is None


@pytest.mark.parametrize(("path", "valid"), PATHS["is_schema_file"])
def test_schema_files_are_distinguished_from_others(path: str, valid: bool) -> None:
    result = PathLayout().schema_path(path)
    # TiCDC's test looks at a path's end only: this one names no schema.
    assert (result is not None) is (valid and path != "meta/schema_123_0123456789.json")
    assert result is None or result.path == path


def test_schema_files_have_their_table_and_version() -> None:
    for case in PATHS["schema_file"]:
        # The samples' checksums are shorter than TiCDC's.
        path = re.sub(r"_(\d+)\.json", lambda match: f"_{int(match[1]):010d}.json", case["path"])
        assert PathLayout().schema_path(path) == SchemaPath(
            case["schema"], case["table"], case["version"], int(case["path"].split("_")[-1][:-5])
        )
    by_id = PathLayout(table_id_paths=True).schema_path("123/meta/schema_5_0000000007.json")
    assert by_id == SchemaPath("", "", 5, 7, 123)
    assert by_id.path == "123/meta/schema_5_0000000007.json"


def test_the_settings_tell_a_year_from_a_partition() -> None:
    path = "s/t/5/2022/CDC000002.csv"
    for separator, partition, day in (("year", None, "2022"), ("none", 2022, None)):
        file = PathLayout(date_separator=separator).data_file(path)  # type: ignore[arg-type]
        assert file is not None
        assert (file.directory.partition, file.directory.date) == (partition, day)
    assert PathLayout(date_separator="day").data_file("s/t/5/CDC000002.csv") is None
    for other in ("s/t/5/CDC000002.txt", "s/t/x/CDC000002.csv", "metadata", "s/t/5/meta/CDC.index"):
        assert PathLayout(date_separator="none").data_file(other) is None


LONG = "9" * 5000


@pytest.mark.parametrize(
    "path",
    [
        f"s/t/{LONG}/CDC1.csv",
        f"s/t/5/{LONG}/CDC1.csv",
        f"s/t/5/CDC{LONG}.csv",
        f"s/t/{LONG}/meta/CDC.index",
        f"s/t/meta/schema_{LONG}_0123456789.json",
        f"s/t/meta/schema_5_{LONG}.json",
    ],
    ids=lambda path: path.replace(LONG, "9..."),
)
def test_numbers_that_none_can_be_are_not_looked_for_in_a_path(path: str) -> None:
    layout = PathLayout(date_separator="none")
    result = (layout.data_file(path), layout.index(path), layout.schema_path(path))
    assert result == (None, None, None)
    assert layout.data_file("s/t/99999999999999999999/CDC99999999999999999999.csv") is not None


def test_the_metadata_has_the_checkpoint() -> None:
    sample = PATHS["metadata_file"]
    assert sample["path"] == METADATA
    assert metadata_json(433305438660591626).decode() == sample["content"]
    assert checkpoint_ts(sample["content"].encode()) == 433305438660591626


MALFORMED = [
    (lambda: checkpoint_ts(b"[]"), "the metadata is not a JSON object"),
    (lambda: checkpoint_ts(b"{}"), "checkpoint-ts is not a timestamp of 1 to 2^64 - 1"),
    (lambda: checkpoint_ts(b'{"checkpoint-ts":'), "not JSON at character 17"),
    (lambda: last_number(b""), "the index file names no data file"),
    (lambda: last_number(b"CDC1.txt\n"), "the index file names no data file"),
    (lambda: last_number(b"CDC%s.csv" % (b"9" * 5000)), "the index file names no data file"),
]


@pytest.mark.parametrize(("read", "message"), MALFORMED)
def test_malformed_files_are_named(read: Any, message: str) -> None:
    with pytest.raises(WireError) as caught:
        read()
    assert str(caught.value) == message


# Schema files.

SAMPLES = VECTORS["10_schema_files"]["cases"]


@pytest.mark.parametrize("case", SAMPLES, ids=lambda case: str(case["name"]))
def test_reads_the_schema_files_of_ticdcs_tests(case: dict[str, Any]) -> None:
    path = PathLayout().schema_path(case["file_path"])
    assert path is not None
    file = parse_schema_file(path, case["file_content"].encode())
    members = json.loads(case["file_content"])
    assert (file.schema, file.name, file.version) == (path.schema, path.table, path.version)
    assert (file.query, file.kind) == (members["Query"], members["Type"])
    columns = members["TableColumns"] or []
    names = [] if file.table is None else [column.name for column in file.table.columns]
    assert names == [column["ColumnName"] for column in columns]
    if file.table is None:
        assert schema_file(file) == (path, case["file_content"].encode())
    else:
        assert file.table.handle_key == ("Id",)
        assert (file.ddl is None) is (file.query == "")
    if file.ddl is not None:
        assert file.ddl.definition == file.table
        assert file.ddl.commit_ts == 100


@pytest.mark.parametrize("case", VECTORS["11_schema_file_columns"]["cases"], ids=str)
def test_reads_the_column_of_every_type(case: dict[str, Any]) -> None:
    members = {**case["column"], "ColumnName": "c"}
    table_members = {"Table": "t", "Schema": "s"}
    columns = {"TableColumns": [members], "TableColumnsTotal": 1}
    checksum = crc32(json.dumps({**table_members, "Version": 0, **columns}, indent=4).encode())
    about = {"Version": 1, "TableVersion": 5, "Query": "", "Type": 0}
    content = json.dumps({**table_members, **about, **columns}).encode()
    table = parse_schema_file(SchemaPath("s", "t", 5, checksum), content).table
    assert table is not None
    (column,) = table.columns
    mysql = re.split(r"[( ]", case["mysql"])[0]
    assert column.type.name == mysql.replace("var_string", "varchar")
    assert column.type.unsigned is ("UNSIGNED" in case["mysql"])
    assert table.handle_key == (("c",) if "ColumnIsPk" in case["column"] else ())


def test_a_column_may_have_its_id() -> None:
    table = parse_create_table("create table t(id int primary key)", "s")
    path, content = schema_file(SchemaFile("s", "t", 5, table=table), column_ids={"id": 1})
    assert b'"ColumnId": "1",\n            "ColumnName": "id"' in content
    assert parse_schema_file(path, content).table is not None


DEFAULTS = [
    ("bit(8) default b'11111111'", '"\\ufffd"'),
    ("binary(2) default x'ff00'", '"\\ufffd\\u0000"'),
    ("varbinary(8) default x'c3ff41'", '"\\ufffd\\ufffdA"'),
    ("varbinary(8) default x'efbfbd'", '"\ufffd"'),
    ("varbinary(8) default x'efbfbdff'", '"\ufffd\\ufffd"'),
    (r"varchar(8) default '\\ufffd'", r'"\\ufffd"'),
    ("varbinary(8) default x'5cff'", r'"\\\ufffd"'),
    ("varbinary(8) default x'5c75643830ff'", r'"\\ud80\ufffd"'),
]


@pytest.mark.parametrize(("sql", "written"), DEFAULTS)
def test_the_checksum_is_over_bytes_that_ticdc_lost(sql: str, written: str) -> None:
    table = parse_create_table(f"create table t(id int primary key, c {sql})", "s")
    path, content = schema_file(SchemaFile("s", "t", 5, table=table))
    assert f'"ColumnDefault": {written}' in content.decode()
    assert parse_schema_file(path, content).table is not None
    other = content.replace(b'"c"', b'"d"')
    with pytest.raises(WireError, match="checksum"):
        parse_schema_file(path, other)


def test_a_length_that_none_can_be_is_refused() -> None:
    table = parse_create_table("create table t(id int primary key)", "s")
    _, content = schema_file(SchemaFile("s", "t", 5, table=table))
    with pytest.raises(WireError, match="ColumnPrecision of column `id` is not a number"):
        parse_schema_file(None, content.replace(b'"11"', b'"%s"' % LONG.encode()))


BAD_SCHEMAS = [
    ({"Table": "u"}, "the schema file of s.t is of s.u"),
    ({"TableVersion": 6}, "the schema file of version 5 is of version 6"),
    ({"Query": "x"}, None),
    ({"Query": None}, "Query is missing or not of type str"),
    ({"TableColumns": {}}, "TableColumns is not a list"),
    ({"TableColumnsTotal": 2}, "the schema file's checksum is not "),
]


@pytest.mark.parametrize(("change", "message"), BAD_SCHEMAS)
def test_a_schema_file_that_is_not_its_paths_is_refused(
    change: dict[str, Any], message: str | None
) -> None:
    table = parse_create_table("create table t(id int primary key)", "s")
    path, content = schema_file(SchemaFile("s", "t", 5, table=table))
    content = json.dumps(json.loads(content) | change).encode()
    if message is None:  # the checksum leaves the DDL out
        assert parse_schema_file(path, content).query == "x"
        return
    with pytest.raises(WireError) as caught:
        parse_schema_file(path, content)
    assert str(caught.value).startswith(message)


# TiCDC's own files.

GOLDEN = [
    variant
    for name in ("keys", "types", "splits", "workload", "ddl")
    for variant in scenario(name).variants.values()
    if variant.sink_uri.startswith("file:")
]
LAYOUT = PathLayout(date_separator="none")


def named(variant: Variant) -> str:
    return f"{variant.scenario}-{variant.name}"


@pytest.mark.parametrize("variant", GOLDEN, ids=named)
def test_schema_files_describe_the_upstreams_tables(variant: Variant) -> None:
    for path, content in variant.files.items():
        where = LAYOUT.schema_path(path)
        if where is None:
            continue
        file = parse_schema_file(where, content)
        assert where.path == path
        if file.table is None:
            assert file.name in ("", "vw")
            continue
        true = table_at(variant.scenario, file.schema, file.name, file.version)
        assert [_described(file.table, name) for name in names(file.table)] == [
            _described(true, name) for name in names(true)
        ]
        primary = [index.columns for index in true.indexes if index.primary]
        assert {*file.table.handle_key} == {*(primary[0] if primary else ())}


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def _described(table: Table, name: str) -> Any:
    """What a schema file has of a column: charset, flags and defaults' digits are not in it."""
    column = table.column(name)
    type_ = column.type
    known = (type_.name, type_.unsigned, type_.elements, column.nullable)
    lengthy = type_.name in ("char", "varchar", "binary", "varbinary", "decimal", "bit")
    decimals = (type_.decimals or 0) if type_.name != "float" else None
    return (name, *known, type_.length if lengthy else None, decimals)


# The golden data's maker cuts no directory by date, and has numbers of six digits.
AS_MADE = {"date-separator": "none", "file-index-digit": 6}


def replayed(variant: Variant) -> dict[str, bytes]:
    """The files that a storage changefeed of ours makes of the scenario, one per directory."""
    config = tomllib.loads(variant.config_toml)
    config.setdefault("sink", {}).update(AS_MADE)
    changefeed = StorageChangefeed(
        variant.sink_uri, config, time_zone=variant.server_tz, **made_by(variant)
    )
    files: list[StorageFile] = []
    for event in happened(variant.scenario):
        match event:
            case Transaction():
                for part in sendable(event, variant):
                    try:
                        files += changefeed.encode(part)
                    except DefinitionError as error:
                        assert str(error).endswith("enum: not one of the members")
            case Ddl():
                files += changefeed.ddl(event)
    return one_per_directory([*files, *changefeed.flush()])


def one_per_directory(files: list[StorageFile]) -> dict[str, bytes]:
    """The files with all data files of a directory in the first: the golden data cuts none."""
    joined: dict[str, bytes] = {}
    for file in files:
        path, content = file.path, file.content
        data = LAYOUT.data_file(path)
        if data is not None:
            path = data.directory.path + data.directory.name(1, data.extension, 6)
            if path in joined and content.startswith(b"ticdc-meta$"):
                content = content.partition(b"\r\n")[2]
            content = joined.get(path, b"") + content
        elif LAYOUT.index(path) is not None:
            content = re.sub(rb"\d+", b"000001", content)
        joined[path] = content
    return joined


def comparable(content: bytes) -> Any:
    """Canal-JSON without what differs from run to run: `ts` and the order in `mysqlType`."""
    if not content.startswith(b'{"id":0,'):
        return content
    lines = []
    for line in content.split(b"\r\n"):
        plain = re.sub(rb'"ts":\d+', b"", line, count=1)
        types = sorted(json.loads(line)["mysqlType"].items()) if line else None
        lines.append((re.sub(rb'"mysqlType":\{.*?\},"old"', b"", plain), types))
    return lines


# What the golden data cannot be compared in: the hidden column of an index over an expression,
# whose type TiDB infers, a view's columns, which have no type, and the physical ids of partitions,
# which are not known here. EXCHANGE PARTITION has two files in TiCDC; the data's maker wrote one.
DIFFERENT = re.compile(
    r"shop2?/goods2?/meta/.*|shop/item/meta/schema_470620405506768896_.*|shop/vw/meta/.*"
    r"|shop/(part|plist|pkey)/\d+/.*|shop/exch/meta/schema_470620405929345024_.*"
)


@pytest.mark.parametrize("variant", GOLDEN, ids=named)
def test_a_changefeed_makes_the_files_that_ticdc_made(variant: Variant) -> None:
    ours = {p: comparable(content) for p, content in replayed(variant).items()}
    theirs = {p: comparable(content) for p, content in variant.files.items()}
    different = {path for path in ours.keys() | theirs if ours.get(path) != theirs.get(path)}
    strange = {path for path in different if DIFFERENT.fullmatch(path) is None}
    assert not strange
    assert bool(different) is (variant.scenario == "ddl")
    assert _partitioned(ours) == _partitioned(theirs)


def _partitioned(files: dict[str, Any]) -> Counter[str]:
    """The records of the partitioned tables' files, whose directories are not known."""
    records: Counter[str] = Counter()
    for path, content in files.items():
        if re.match(r"shop/(part|plist|pkey)/\d+/(\d+/)?CDC", path):
            lines = content.split(b"\r\n") if isinstance(content, bytes) else content
            records.update(map(str, lines))
    headers = [line for line in records if line.startswith("b'ticdc-meta")]
    for line in [*headers, "b''", "(b'', None)"]:
        records.pop(line, None)
    return records


@pytest.mark.parametrize(
    "variant", [v for v in GOLDEN if v.name == "storage-canal-json"], ids=named
)
def test_canal_json_files_hold_what_happened_upstream(variant: Variant) -> None:
    format_ = FILE_FORMATS["canal-json"]
    facts = []
    for path, content in variant.files.items():
        file = LAYOUT.data_file(path)
        if file is None:
            continue
        assert file.extension == format_.extension
        where = file.directory
        table = table_at(variant.scenario, where.schema, where.table, where.version)
        facts += [_fact(c) for c in format_.decode(content, table, format_.Options())]
    happened_ = [_fact(change) for change in sent_changes(variant)]
    assert sorted(facts, key=repr) == sorted(happened_, key=repr)


def _fact(change: RowChange) -> tuple[Any, ...]:
    rows = [
        row and sorted((n, f"{v:.6g}" if isinstance(v, float) else v) for n, v in row.items())
        for row in (change.before, change.after)
    ]
    return change.table.schema, change.table.name, change.commit_ts, rows


# A changefeed.

ORDERS = parse_create_table("create table orders (id int primary key, v int)", "shop")
CSV = {"sink": {"csv": {"include-commit-ts": True}}}


def inserted(**row: Value) -> Transaction:
    return Transaction(9, (RowChange(ORDERS, 9, None, row),))


def test_files_have_the_day_of_their_writing_and_count_within_it() -> None:
    days = iter([date(2024, 2, 29), date(2024, 2, 29), date(2024, 3, 1)])
    changefeed = StorageChangefeed("s3://b/p?protocol=csv", CSV, today=lambda: next(days))
    (schema,) = changefeed.encode(inserted(id=1, v=1))
    assert schema.path.startswith("shop/orders/meta/schema_1_")
    assert json.loads(schema.content)["Query"] == ""
    first = changefeed.resolve(10)
    assert [file.path for file in first] == [
        "shop/orders/1/2024-02-29/CDC00000000000000000001.csv",
        "shop/orders/1/2024-02-29/meta/CDC.index",
        "metadata",
    ]
    assert first[0].content == b'"I","orders","shop",9,1,1\r\n'
    assert first[1].content == b"CDC00000000000000000001.csv\n"
    assert checkpoint_ts(first[2].content) == 10
    paths = []
    for _ in range(2):
        changefeed.encode(inserted(id=1, v=1))
        paths.append(changefeed.flush()[0].path)
    assert paths == [
        "shop/orders/1/2024-02-29/CDC00000000000000000002.csv",
        "shop/orders/1/2024-03-01/CDC00000000000000000001.csv",
    ]
    assert changefeed.resolve(11) == [StorageFile("metadata", metadata_json(11))]


def test_a_ddl_begins_a_directory_and_follows_the_rows_before_it() -> None:
    changefeed = StorageChangefeed("file:///p?protocol=csv&date-separator=none", CSV, start_ts=5)
    create = Ddl("shop", "orders", "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`v` INT)", 7, 3)
    assert len(changefeed.ddl(create)) == 1
    changefeed.encode(inserted(id=1, v=1))
    wider = parse_create_table("create table orders (id int primary key, v int, w int)", "shop")
    alter = Ddl("shop", "orders", "ALTER TABLE `orders` ADD `w` INT", 12, 5, wider)
    data, index, schema = changefeed.ddl(alter)
    assert data.path == "shop/orders/7/CDC00000000000000000001.csv"
    assert index.path == "shop/orders/7/meta/CDC.index"
    where = PathLayout().schema_path(schema.path)
    assert where is not None
    file = parse_schema_file(where, schema.content)
    assert (file.version, file.query, file.kind) == (12, alter.query, 5)
    assert file.ddl == alter
    rename = Ddl("shop", "sales", "RENAME TABLE `shop`.`orders` TO `shop`.`sales`", 13, 14)
    (renamed,) = changefeed.ddl(rename)
    assert renamed.path.startswith("shop/sales/meta/schema_13_")
    (dropped,) = changefeed.ddl(Ddl("shop", "sales", "DROP TABLE `shop`.`sales`", 14, 4))
    assert len(json.loads(dropped.content)["TableColumns"]) == 3
    (database,) = changefeed.ddl(Ddl("shop", "", "DROP DATABASE `shop`", 15, 2))
    assert database.path.startswith("shop/meta/schema_15_")


def test_exchange_partition_writes_both_tables() -> None:
    changefeed = StorageChangefeed("file:///p?protocol=csv", CSV)
    for name, ts in (("part", 5), ("plain", 6)):
        query = f"CREATE TABLE `{name}` (`id` INT PRIMARY KEY)"
        changefeed.ddl(Ddl("s", name, query, ts, 3))
    query = "ALTER TABLE `s`.`part` EXCHANGE PARTITION `p0` WITH TABLE `s`.`plain`"
    part, plain = changefeed.ddl(Ddl("s", "plain", query, 7, 42))
    assert json.loads(part.content)["Query"] == query
    assert part.path.startswith("s/part/meta/schema_7_")
    assert json.loads(plain.content)["Query"] == ""
    assert plain.path.startswith("s/plain/meta/schema_7_")


def test_partitions_and_filters_are_heeded() -> None:
    sink: dict[str, Any] = {"date-separator": "none", **CSV["sink"]}
    config = {"filter": {"rules": ["shop.*"]}, "sink": sink}
    row = RowChange(ORDERS, 9, None, {"id": 1, "v": 1}, partition_id=55)
    for enabled, directory in ((True, "shop/orders/1/55/"), (False, "shop/orders/1/")):
        sink["enable-partition-separator"] = enabled
        changefeed = StorageChangefeed("file:///p?protocol=csv", config)
        changefeed.encode(Transaction(9, (row,)))
        assert changefeed.flush()[0].path.startswith(f"{directory}CDC")
    other = replace(row, table=replace(ORDERS, schema="bank"))
    assert changefeed.encode(Transaction(9, (other,))) == []
    assert changefeed.ddl(Ddl("bank", "", "CREATE DATABASE bank", 5)) == []
    assert changefeed.ddl(Ddl("bank", "t", "CREATE TABLE t (id INT PRIMARY KEY)", 5)) == []
    assert changefeed.ddl(Ddl("shop", "t", "CREATE TABLE t (id INT)", 5)) == []


NEW: Any = {"version": "8.5.7", "new_architecture": True}
ROUTED = {
    "sink": {
        **CSV["sink"],
        "date-separator": "none",
        "dispatchers": [
            {"matcher": ["shop.*"], "target-schema": "lake", "target-table": "{schema}_{table}"}
        ],
    }
}


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_a_routed_table_has_its_target_in_paths_schemas_and_rows(protocol: str) -> None:
    uri = f"file:///p?protocol={protocol}&enable-tidb-extension=true"
    changefeed = StorageChangefeed(uri, ROUTED, **NEW)
    (database,) = changefeed.ddl(Ddl("shop", "", "CREATE DATABASE `shop`", 6, 1))
    assert database.path.startswith("lake/meta/schema_6_")
    assert json.loads(database.content)["Query"] == "CREATE DATABASE `lake`"
    create = Ddl("shop", "orders", "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`v` INT)", 7, 3)
    (schema,) = changefeed.ddl(create)
    where = PathLayout().schema_path(schema.path)
    assert where is not None
    file = parse_schema_file(where, schema.content)
    assert (file.schema, file.name) == ("lake", "shop_orders")
    assert file.query == "CREATE TABLE `lake`.`shop_orders` (`id` INT PRIMARY KEY,`v` INT)"
    assert changefeed.encode(inserted(id=1, v=1)) == []
    data, index = changefeed.flush()
    assert data.path.startswith("lake/shop_orders/7/CDC")
    assert index.path == "lake/shop_orders/7/meta/CDC.index"
    assert (b'"shop_orders","lake"' in data.content) is (protocol == "csv")
    assert (b'"database":"lake","table":"shop_orders"' in data.content) is (protocol != "csv")


def test_a_routed_table_that_no_ddl_described_has_its_target_too() -> None:
    changefeed = StorageChangefeed("file:///p?protocol=csv", ROUTED, **NEW)
    (schema,) = changefeed.encode(inserted(id=1, v=1))
    assert schema.path.startswith("lake/shop_orders/meta/schema_1_")
    assert json.loads(schema.content)["Table"] == "shop_orders"


def test_a_target_name_is_free_after_drops_and_renames() -> None:
    dispatchers = [{"matcher": ["*.*"], "target-schema": "lake", "target-table": "t"}]
    changefeed = StorageChangefeed(
        "file:///p?protocol=csv", {"sink": {"dispatchers": dispatchers}}, **NEW
    )

    def create(schema: str, table: str) -> None:
        query = f"CREATE TABLE `{schema}`.`{table}` (`id` INT PRIMARY KEY)"
        changefeed.ddl(Ddl(schema, table, query, 7, 3))

    create("a", "x")
    with pytest.raises(DefinitionError, match=r"a\.x and b\.y are both routed to lake\.t"):
        create("b", "y")
    changefeed.ddl(Ddl("a", "x", "DROP TABLE `a`.`x`", 8, 4))
    create("b", "y")
    changefeed.ddl(Ddl("b", "z", "RENAME TABLE `b`.`y` TO `b`.`z`", 9, 14))
    changefeed.ddl(Ddl("b", "", "DROP DATABASE `b`", 10, 2))
    create("c", "x")


SELECTORS = [{"matcher": ["shop.*"], "columns": ["*", "!v"]}]
SELECTING = {"sink": {**CSV["sink"], "column-selectors": SELECTORS}}


@pytest.mark.parametrize(
    ("version", "new", "row"),
    [
        ("9.0.0", True, b'"I","orders","shop",9,1\r\n'),
        ("26.3.4", True, b'"I","orders","shop",9,1\r\n'),
        ("26.3.3", True, b'"I","orders","shop",9,1,2\r\n'),
        ("8.5.8", True, b'"I","orders","shop",9,1,2\r\n'),
        ("9.0.0", False, b'"I","orders","shop",9,1,2\r\n'),
    ],
)
def test_column_selectors_are_heeded_where_cloud_storage_does(
    version: str, new: bool, row: bytes
) -> None:
    changefeed = StorageChangefeed(
        "file:///p?protocol=csv", SELECTING, version, new_architecture=new
    )
    (schema,) = changefeed.encode(inserted(id=1, v=2))
    assert len(json.loads(schema.content)["TableColumns"]) == 2
    assert changefeed.flush()[0].content == row


def test_selected_columns_are_in_the_header_and_in_canal_json() -> None:
    config = {"sink": {**SELECTING["sink"], "csv": {"output-field-header": True}}}
    sent = []
    for protocol in ("csv", "canal-json"):
        changefeed = StorageChangefeed(
            f"file:///p?protocol={protocol}", config, "9.0.0", new_architecture=True
        )
        changefeed.encode(inserted(id=1, v=2))
        sent.append(changefeed.flush()[0].content)
    assert sent[0].splitlines()[0].endswith(b"schema,id")
    assert b'"data":[{"id":"1"}]' in sent[1]


@pytest.mark.parametrize(
    ("version", "new", "header"),
    [("8.5.4", True, b",id,w,v"), ("8.5.8", True, b",id,w,v"), ("9.0.0", True, b",id,v")],
)
def test_a_header_has_virtual_columns_before_selectors_exist(
    version: str, new: bool, header: bytes
) -> None:
    table = parse_create_table(
        "create table orders (id int primary key, w int as (id) virtual, v int)", "shop"
    )
    config = {"sink": {"csv": {"output-field-header": True}}}
    changefeed = StorageChangefeed("file:///p?protocol=csv", config, version, new_architecture=new)
    changefeed.encode(Transaction(9, (RowChange(table, 9, None, {"id": 1, "v": 2}),)))
    lines = changefeed.flush()[0].content.split(b"\r\n")
    assert lines[0].endswith(header)
    assert lines[1] == b'"I","orders","shop",1,2'


@pytest.mark.parametrize("version", ["8.5.7", "9.0.0-beta.1"])
def test_the_old_architecture_has_no_header_before_9_0(version: str) -> None:
    config = {"sink": {"csv": {"output-field-header": True}}}
    with pytest.raises(ConfigError, match="output-field-header needs TiCDC's new architecture"):
        StorageChangefeed("file:///p?protocol=csv", config, version)
    StorageChangefeed("file:///p?protocol=csv", config, "9.0.0-beta.2.pre")


REFUSED: list[tuple[str, Any, str]] = [
    ("kafka://h/t?protocol=csv", None, "the sink URI's scheme is 'kafka', not one of"),
    ("s3://key:secret@b/p?protocol=avro", None, "protocol is 'avro', not one of csv, canal-json"),
    ("s3://b/p", None, "protocol is '', not one of csv, canal-json"),
    ("s3://b/p?protocol=csv&date-separator=week", None, "date-separator is 'week', not one of"),
    ("s3://b/p?protocol=csv&date-seperator=none", None, "unknown setting: date-seperator"),
    ("s3://b/p?protocol=csv", "[sinkk]\na = 1", "unknown setting: sinkk.a"),
    (
        "s3://b/p?protocol=csv",
        {"sink": {"csv": {"include-commit-tss": True}}},
        "unknown setting: sink.csv.include-commit-tss",
    ),
    ("s3://b/p?protocol=csv", {"bdr-mode": True}, "bdr-mode is not supported"),
    (f"{'s3://app:p'}\u2100ss-secret@b/p?protocol=csv", None, "is not a URI"),
    ("s3://b/p?protocol=csv", {"sink": {"csv": {"delimiter": 1}}}, "must be of type str"),
    ("s3://b/p?protocol=csv", {"sink": {"csv": {"quote": "ab"}}}, "quote must be one character"),
    (
        "s3://b/p?protocol=csv",
        {"sink": {"cloud-storage-config": {"use-table-id-as-path": True}}},
        "use-table-id-as-path is not supported",
    ),
]


@pytest.mark.parametrize(("uri", "config", "message"), REFUSED)
def test_a_wrong_setting_is_named_and_no_secret_shown(uri: str, config: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        StorageChangefeed(uri, config)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_ticdc_adjusts_is_adjusted() -> None:
    config = {
        "memory-quota": 1,
        "sink": {
            "file-index-digit": 3,
            "terminator": "",
            "cloud-storage-config": {"flush-interval": "2s"},
            "csv": {"include-commit-ts": True},
        },
    }
    changefeed = StorageChangefeed(
        "s3://b/p?protocol=CSV&date-separator=None&region=x&protocol=json", config
    )
    changefeed.encode(Transaction(5, (RowChange(ORDERS, 5, None, {"id": 1, "v": 2}),)))
    (data,) = [file for file in changefeed.flush() if file.path.endswith(".csv")]
    assert data.path.endswith("/CDC00000000000000000001.csv")
    assert data.content.endswith(b"\r\n")


def test_a_file_of_canal_json_holds_rows_only() -> None:
    format_ = FILE_FORMATS["canal-json"]
    mark = b'{"id":0,"isDdl":false,"type":"TIDB_WATERMARK","_tidb":{"watermarkTs":5}}'
    with pytest.raises(WireError, match="record 1 of the file is not a row"):
        format_.decode(mark, ORDERS, format_.Options())
    with pytest.raises(WireError, match="not JSON at character 1; in record 2 of the file"):
        format_.decode(b"\r\n{", ORDERS, format_.Options())
    assert format_.decode(b"", ORDERS, format_.Options()) == []
