import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.golden import Variant, scenario
from support.golden_changes import table_at
from support.golden_replay import sent_changes
from support.wire_values import COLUMNS, rows
from support.wire_vectors import vectors
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats import MissingCommitTs, csv
from ticdc_encoder.formats.csv import Encoder, Options, decode, shortest
from ticdc_encoder.formats.csv import fields as csv_fields
from ticdc_encoder.formats.csv import rows as csv_rows
from ticdc_encoder.formats.csv.options import require_legible
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.storage.layout import PathLayout

VECTORS: dict[str, Any] = vectors("csv")
TIMED = Options(include_commit_ts=True)


def encoded(changes: list[RowChange], options: Options) -> bytes:
    encoder = Encoder(options)
    return b"".join(value or b"" for change in changes for _, value in encoder.row(change))


def texts(schema: str, name: str, count: int, kind: str = "varchar") -> Table:
    columns = tuple(Column(f"c{n}", ColumnType(kind)) for n in range(count))
    return Table(schema, name, columns)


# The documents' and TiCDC's own samples.


@pytest.mark.parametrize("case", VECTORS["01_encode_cases"]["cases"], ids=lambda c: str(c["name"]))
def test_reads_and_writes_the_samples_of_ticdcs_tests(case: dict[str, Any]) -> None:
    options = Options(**case["config"], require_commit_ts=False)
    expected = case["expected"]
    values = expected[0]["columns"]
    numbers = [value is not None and value.replace(".", "").isdecimal() for value in values]
    columns = tuple(
        Column(f"c{n}", ColumnType("double" if number else "varchar"))
        for n, number in enumerate(numbers)
    )
    table = Table(expected[0]["schema"], expected[0]["table"], columns)
    changes = decode(case["text"].encode(), table, options)
    if options.output_handle_key:  # of an integer key that is no column of the sample
        table = parse_create_table(
            "create table table2(c0 text, c1 text, id int primary key)", "test"
        )
        events = [
            replace(c, table=table, before=_with_id(c.before), after=_with_id(c.after))
            for c in changes
        ]
        text = case["text"].replace("\n", "!1\n")
        assert encoded(events, options).decode() == text
    else:
        assert encoded(changes, options).decode() == case["text"]
    assert _records(changes, options) == [
        (record["op"], record.get("commit_ts", 0), record["columns"]) for record in expected
    ]


def _with_id(row: Row | None) -> Row | None:
    return None if row is None else {**row, "id": 1}


def _records(changes: list[RowChange], options: Options) -> list[tuple[str, int, list[Any]]]:
    """What the file's records were."""
    records = []
    for change in changes:
        rows_ = [("D", change.before), ("I", change.after)]
        if change.before is not None and change.after is not None and not options.output_old_value:
            rows_ = [("U", change.after)]
        for operation, row in rows_:
            if row is not None:
                values = [str(v) if isinstance(v, float) else v for v in row.values()]
                values = [v.removesuffix(".0") if isinstance(v, str) else v for v in values]
                records.append((operation, change.commit_ts, values))
    return records


@pytest.mark.parametrize("case", VECTORS["02_quoting_escaping"]["quoted"])
def test_quotes_are_doubled(case: dict[str, str]) -> None:
    _one_field(case, Options(quote=case["quote"], terminator="\n", require_commit_ts=False))


@pytest.mark.parametrize("case", VECTORS["02_quoting_escaping"]["escaped_no_quote"])
def test_without_quotes_what_would_end_a_field_is_escaped(case: dict[str, str]) -> None:
    options = Options(
        quote="", delimiter=case["delimiter"], terminator="\n", require_commit_ts=False
    )
    if len(case["delimiter"]) > 1 and case["delimiter"][0] == case["delimiter"][-1]:
        with pytest.raises(ConfigError, match="a delimiter that ends as it begins"):
            _one_field(case, options)
    else:
        _one_field(case, options)


def _one_field(case: dict[str, str], options: Options) -> None:
    table = texts("s", "t", 1)
    change = RowChange(table, 0, None, {"c0": case["value"]})
    written = encoded([change], options)
    assert written.decode().split(options.delimiter, 3)[3] == case["text"] + "\n"
    assert decode(written, table, options) == [change]


@pytest.mark.parametrize("case", VECTORS["03_headers"]["cases"])
def test_a_file_begins_with_its_header(case: dict[str, Any]) -> None:
    options = Options(**case["config"], output_field_header=True, require_commit_ts=False)
    table = Table("s", "t", tuple(Column(name, ColumnType("int")) for name in case["columns"]))
    header = Encoder(options).header(table).decode()
    assert header == case["header"] + options.terminator
    assert decode(header.encode(), table, options) == []
    assert Encoder(replace(options, output_field_header=False)).header(table) == b""


EMPLOYEE = parse_create_table(
    "create table employee (Id int primary key, LastName varchar(20), FirstName varchar(30), "
    "HireDate date, OfficeLocation varchar(20))",
    "hr",
)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("04_employee", Options(include_commit_ts=True, terminator="\n")),
        ("05_docs_default", Options(include_commit_ts=True, terminator="\n")),
        (
            "06_docs_old_value",
            Options(include_commit_ts=True, output_old_value=True, terminator="\n"),
        ),
        (
            "07_docs_old_value_header",
            Options(
                include_commit_ts=True,
                output_old_value=True,
                output_field_header=True,
                terminator="\n",
            ),
        ),
    ],
)
def test_reads_and_writes_the_documents_files(name: str, options: Options) -> None:
    data = VECTORS[name].encode()
    changes = decode(data, EMPLOYEE, options)
    assert [c.commit_ts - 433305438660591000 for c in changes] == [626, 627, 629, 630, 630]
    assert [(c.before is not None, c.after is not None) for c in changes] == [
        (False, True),
        (True, True),
        (True, False),
        (False, True),
        (True, True),
    ]
    assert changes[0].after == {
        "Id": 101,
        "LastName": "Smith",
        "FirstName": "Bob",
        "HireDate": "2014-06-04",
        "OfficeLocation": "New York",
    }
    assert Encoder(options).header(EMPLOYEE) + encoded(changes, options) == data


_TYPES = {
    "tiny": "tinyint",
    "short": "smallint",
    "int24": "mediumint",
    "long": "int",
    "longlong": "bigint",
    "varstring": "varchar",
    "string": "char",
    "varbinary1": "varbinary",
    "vectorfloat32": "vector",
}


@pytest.mark.parametrize("case", VECTORS["08_value_conversion"]["cases"], ids=str)
def test_values_are_written_as_ticdcs_tests_have_it(case: dict[str, Any]) -> None:
    name = case["name"].removesuffix("unsigned")
    elements = tuple(case.get("elements", ()))
    type_ = ColumnType(_TYPES.get(name, name), unsigned=name != case["name"], elements=elements)
    expected, value = case["csv_value"], case["csv_value"]
    if type_.binary:
        value = b"hello world"
    elif type_.name == "decimal":
        value = Decimal(value)
    elif elements:
        value = int(case["go_value"].removeprefix("uint64(")[:-1])
    options = Options(
        binary_encoding_method=case["binary"].lower(), terminator="\n", require_commit_ts=False
    )
    table = Table("s", "t", (Column("c", type_),))
    change = RowChange(table, 0, None, {"c": value})
    text = json.dumps(expected) if name != "json" else '"{""key"": ""value""}"'
    assert encoded([change], options).decode() == f'"I","t","s",{text}\n'
    assert decode(encoded([change], options), table, options) == [change]


# TiCDC's own files.

GOLDEN = [
    variant
    for name in ("keys", "types", "splits", "workload", "ddl")
    for variant in scenario(name).variants.values()
    if variant.name.startswith("csv.")
]


def named(variant: Variant) -> str:
    return f"{variant.scenario}-{variant.name}"


def options_of(variant: Variant) -> Options:
    """The variant's; the new architecture has no column for the handle key."""
    settings = tomllib.loads(variant.config_toml).get("sink", {}).get("csv", {})
    named_ = {name.replace("-", "_"): value for name, value in settings.items()}
    named_.pop("output_handle_key", None)
    return Options(**named_, time_zone=variant.server_tz, require_commit_ts=False)


def read_files(variant: Variant) -> list[tuple[bytes, Table, list[RowChange]]]:
    """The data files, each with its table and changes."""
    layout, options = PathLayout(date_separator="none"), options_of(variant)
    read = []
    for path, data in variant.files.items():
        file = layout.data_file(path)
        if file is not None:
            where = file.directory
            table = table_at(variant.scenario, where.schema, where.table, where.version)
            read.append((data, table, decode(data, table, options)))
    return read


def rounded(row: Row | None) -> tuple[tuple[str, Value], ...] | None:
    """The golden data has six digits of a FLOAT."""
    if row is None:
        return None
    return tuple((n, f"{v:.6g}" if isinstance(v, float) else v) for n, v in sorted(row.items()))


def invalid_enum(change: RowChange) -> bool:
    """Whether a row has the invalid value of an ENUM, which TiCDC cannot write."""
    row = change.after or change.before or {}
    return any(c.type.name == "enum" and row.get(c.name) == 0 for c in change.table.columns)


@pytest.mark.parametrize("variant", [v for v in GOLDEN if v.name != "csv.tz"], ids=named)
def test_the_golden_files_say_what_happened_upstream(variant: Variant) -> None:
    """But for the commit_ts and old rows that the settings leave out."""
    options = options_of(variant)
    in_files, happened = [], []
    for _, _, changes in read_files(variant):
        for change in changes:
            table = change.table
            before = change.before if change.after is None or options.output_old_value else None
            is_update = change.before is not None and change.after is not None
            identity = (table.schema, table.name, change.commit_ts, is_update)
            in_files.append((*identity, rounded(before), rounded(change.after)))
    for change in sent_changes(variant):
        table = change.table
        if invalid_enum(change):
            continue
        before = change.before if change.after is None or options.output_old_value else None
        is_update = change.before is not None and change.after is not None
        commit_ts = change.commit_ts if options.include_commit_ts else 0
        identity = (table.schema, table.name, commit_ts, is_update)
        happened.append((*identity, rounded(before), rounded(change.after)))
    assert sorted(in_files, key=repr) == sorted(happened, key=repr)


@pytest.mark.parametrize("variant", [v for v in GOLDEN if v.name != "csv.tz"], ids=named)
def test_what_was_read_is_written_with_the_same_bytes(variant: Variant) -> None:
    encoder = Encoder(options_of(variant))
    for data, table, changes in read_files(variant):
        rows_ = [value or b"" for change in changes for _, value in encoder.row(change)]
        assert encoder.header(table) + b"".join(rows_) == data


def test_timestamps_are_in_the_servers_zone() -> None:
    utc = {t.name: c for _, t, c in read_files(scenario("types").variants["csv.committs-oldvalue"])}
    local = {t.name: c for _, t, c in read_files(scenario("types").variants["csv.tz"])}
    differ = {
        a.table.column(name).type.name
        for name_, changes in utc.items()
        for a, b in zip(changes, local[name_], strict=True)
        for name, value in (a.after or {}).items()
        if b.after is not None and b.after[name] != value
    }
    assert differ == {"timestamp"}
    data, table, _ = next(
        file for file in read_files(scenario("types").variants["csv.tz"]) if file[1].name == "tz"
    )
    assert encoded(utc["tz"], replace(TIMED, time_zone="Asia/Shanghai")) == data
    assert table.name == "tz"


# Our own round trips.

MEMBERS = ("a", "b", "d'e", "中", "x y")
WIDE = tuple(
    replace(
        column,
        type=replace(
            column.type,
            elements=MEMBERS if column.type.name == "set" else column.type.elements,
        ),
    )
    for column in COLUMNS
)
TABLE = Table("s", "t", WIDE, handle_key=("bigint",))
LAYOUTS = [
    Options(include_commit_ts=True),
    Options(include_commit_ts=True, output_old_value=True),
    Options(include_commit_ts=True, output_old_value=True, output_field_header=True),
    Options(include_commit_ts=True, delimiter="[*]", quote="'", terminator="\n"),
    Options(include_commit_ts=True, delimiter="|", null="", binary_encoding_method="hex"),
    Options(include_commit_ts=True, quote="", null="\\N"),
    Options(include_commit_ts=True, quote="", delimiter="|+*", output_old_value=True),
]


def written_rows() -> st.SearchStrategy[dict[str, Value]]:
    """Rows that csv can hold: ENUM has no invalid value."""
    return rows().map(lambda row: row | {"enum": row["enum"] or 1})


@given(
    changes=st.lists(
        st.one_of(
            st.tuples(st.none(), written_rows()),
            st.tuples(written_rows(), st.none()),
            st.tuples(written_rows(), written_rows()),
        ),
        max_size=3,
    ),
    options=st.sampled_from(LAYOUTS),
)
def test_what_is_written_is_read(changes: list[tuple[Any, Any]], options: Options) -> None:
    sent = [RowChange(TABLE, n, before, after) for n, (before, after) in enumerate(changes, 1)]
    data = Encoder(options).header(TABLE) + encoded(sent, options)
    if not options.output_old_value:
        sent = [c if c.before is None or c.after is None else replace(c, before={}) for c in sent]
    assert decode(data, TABLE, options) == sent


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_the_shortest_that_names_it(number: float) -> None:
    assert float(shortest(number)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (12345.678, "12345.678"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-1.5e300, "-1.5e+300"),
        (5e-324, "5e-324"),
    ],
)
def test_floats_are_written_as_go_writes_them(number: float, text: str) -> None:
    assert shortest(number) == text


def test_members_that_are_not_known_come_as_text() -> None:
    known = parse_create_table("create table t(id int primary key, e enum('a'), s set('x'))", "s")
    columns = tuple(replace(c, type=replace(c.type, elements=())) for c in known.columns)
    data = b'"I","t","s",5,1,"a","x"\r\n'
    (change,) = decode(data, replace(known, columns=columns), TIMED)
    assert change.after == {"id": 1, "e": "a", "s": "x"}
    (change,) = decode(data, known, TIMED)
    assert change.after == {"id": 1, "e": 1, "s": 1}


def test_virtual_columns_are_not_in_the_file() -> None:
    table = parse_create_table(
        "create table t(id int primary key, v int as (id) virtual, w int)", "s"
    )
    change = RowChange(table, 5, None, {"id": 1, "w": 2})
    assert encoded([change], TIMED) == b'"I","t","s",5,1,2\r\n'
    (read,) = decode(encoded([change], TIMED), table, TIMED)
    assert (read.after, [c.name for c in read.table.columns]) == (change.after, ["id", "w"])


@pytest.mark.parametrize(("header", "named"), [(True, "id,v,w"), (False, "id,w")])
def test_a_header_of_ticdc_8_5_also_names_virtual_columns(header: bool, named: str) -> None:
    table = parse_create_table(
        "create table t(id int primary key, v int as (id) virtual, w int)", "s"
    )
    change = RowChange(table, 5, None, {"id": 1, "w": 2})
    options = replace(TIMED, output_field_header=True, header_has_virtual=header)
    data = Encoder(options).header(table) + encoded([change], options)
    assert data.splitlines()[0].endswith(f"$commit-ts,{named}".encode())
    (read,) = decode(data, table, options)
    assert (read.after, [c.name for c in read.table.columns]) == (change.after, ["id", "w"])


def test_a_header_names_the_columns_if_virtual_ones_are_unknown() -> None:
    table = Table("s", "t", tuple(Column(n, ColumnType("int")) for n in ("id", "v", "w")))
    options = replace(TIMED, output_field_header=True)
    meta = "ticdc-meta$operation,ticdc-meta$table,ticdc-meta$schema,ticdc-meta$commit-ts"
    data = f'{meta},id,w\r\n"I","t","s",5,1,2\r\n'.encode()
    (change,) = decode(data, table, options)
    assert (change.after, len(change.table.columns)) == ({"id": 1, "w": 2}, 2)


def test_the_old_architectures_handle_key_is_the_integer_key() -> None:
    options = replace(TIMED, output_handle_key=True)
    change = RowChange(EMPLOYEE, 5, dict.fromkeys((c.name for c in EMPLOYEE.columns), None), None)
    assert change.before is not None
    change = replace(change, before={**change.before, "Id": 7})
    assert encoded([change], options) == b'"D","employee","hr",5,"7",7,\\N,\\N,\\N,\\N\r\n'
    assert decode(encoded([change], options), EMPLOYEE, options) == [change]
    table = parse_create_table("create table t(id varchar(9) primary key)", "s")
    with pytest.raises(DefinitionError, match=r"s\.t has no integer handle in its rows"):
        encoded([RowChange(table, 5, None, {"id": "a"})], options)


# What cannot be.

PAIR = parse_create_table("create table t(id int primary key, b varbinary(9), e enum('a'))", "s")
OLD = replace(TIMED, output_old_value=True)
HEADED = replace(TIMED, output_field_header=True)
MALFORMED: list[tuple[bytes, Options, str]] = [
    (b'"I","t","s",5,1,"",', TIMED, "column `e` of s.t: not one of the members; in record 1"),
    (b'"I","t","s",5,1', TIMED, "5 fields, but s.t has 3 columns and these settings 4 before them"),
    (b'"I"|"t"', TIMED, "not csv of these settings at character 0"),
    (b'"I","t","s",5,1,"unended', TIMED, "not csv of these settings at character 16"),
    (b'"I","t","s",x,1,"",\\N\r\n', TIMED, "commit-ts is not a timestamp of 1 to 2^64 - 1"),
    (b'"I","t","s",0,1,"",\\N\r\n', TIMED, "commit-ts is not a timestamp of 1 to 2^64 - 1"),
    (
        b'"I","t","s",' + b"4" * 5000 + b',1,"",\\N\r\n',
        TIMED,
        "commit-ts is not a timestamp of 1 to 2^64 - 1",
    ),
    (b'"X","t","s",5,1,"",\\N\r\n', TIMED, "the operation is not I, U or D"),
    (b'"I","u","s",5,1,"",\\N\r\n', TIMED, "a row of another table than s.t"),
    (b'"I","t","s",5,x,"",\\N\r\n', TIMED, "column `id` of s.t: "),
    (b'"I","t","s",5,\\N,"",\\N\r\n', TIMED, "key column `id` of s.t is null"),
    (b'"I","t","s",5,1,"AA",\\N\r\n', TIMED, "column `b` of s.t: not base64"),
    (
        b'"I","t","s",5,1,"xx",\\N\r\n',
        replace(TIMED, binary_encoding_method="hex"),
        "column `b` of s.t: not hex",
    ),
    (
        b'"I","t","s",5,1,"",\\N\r\n"I","t","s",5,1,"",1\r\n',
        TIMED,
        "column `e` of s.t: not one of the members; in record 2 of the file",
    ),
    (b'"I","t","s",5,x,1,"",\\N\r\n', OLD, "is-update is neither true nor false"),
    (b'"U","t","s",5,true,1,"",\\N\r\n', OLD, "the operation is not I, U or D"),
    (b'"D","t","s",5,true,1,"",\\N\r\n', OLD, "the old row of an UPDATE without the new one"),
    (
        b'"D","t","s",5,true,1,"",\\N\r\n"I","t","s",5,false,1,"",\\N\r\n',
        OLD,
        "the old row of an UPDATE without the new one",
    ),
    (b'"I","t","s",5,true,1,"",\\N\r\n', OLD, "the new row of an UPDATE without the old one"),
    (
        b'"D","t","s",5,true,1,"",\\N\r\n"I","t","s",6,true,1,"",\\N\r\n',
        OLD,
        "the new row of an UPDATE without the old one",
    ),
    (b"", HEADED, "the header is not that of these settings"),
    (
        b"ticdc-meta$operation,ticdc-meta$table,ticdc-meta$schema,ticdc-meta$commit-ts,id,x\r\n",
        HEADED,
        "s.t has no column `x`",
    ),
]


@pytest.mark.parametrize(("data", "options", "message"), MALFORMED)
def test_malformed_files_are_named(data: bytes, options: Options, message: str) -> None:
    with pytest.raises(WireError) as caught:
        decode(data, PAIR, options)
    assert str(caught.value).startswith(message)


@given(data=st.binary(max_size=60), options=st.sampled_from(LAYOUTS))
def test_any_bytes_are_read_or_refused(data: bytes, options: Options) -> None:
    try:
        decode(data, PAIR, options)
    except WireError as error:
        assert str(error)


def test_a_file_without_commit_ts_names_the_setting() -> None:
    with pytest.raises(
        MissingCommitTs, match=r"csv of s\.t has no commit_ts: set include-commit-ts"
    ):
        decode(b"", PAIR, Options())


SETTINGS: list[tuple[Callable[[], Options], str]] = [
    (lambda: Options(quote="''"), "quote must be one character"),
    (lambda: Options(delimiter=""), "delimiter must be one to three characters"),
    (lambda: Options(delimiter="abcd"), "delimiter must be one to three characters"),
    (lambda: Options(delimiter="\n"), "cannot have line breaks"),
    (lambda: Options(delimiter='a"'), "cannot share a character"),
    (lambda: Options(terminator=""), "terminator is empty"),
    (lambda: Options(binary_encoding_method="x"), "must be base64 or hex"),  # type: ignore[arg-type]
]


READ_IN_TWO_WAYS: list[tuple[dict[str, Any], str]] = [
    ({"quote": "", "delimiter": "||"}, "a delimiter that ends as it begins"),
    ({"quote": "", "delimiter": "|+|"}, "a delimiter that ends as it begins"),
    ({"quote": "", "delimiter": "n"}, "a delimiter that has a backslash, r or n"),
    ({"quote": "", "delimiter": "\\", "null": "N"}, "a delimiter that has a backslash, r or n"),
    ({"quote": "", "null": ""}, "a null that may also be a text"),
    ({"quote": "", "null": "NULL"}, "a null that may also be a text"),
    ({"quote": "", "null": r"\\N"}, "a null that may also be a text"),
    ({"delimiter": "NN"}, "a null that shares a character with the delimiter"),
    ({"quote": "", "terminator": "EOL"}, "a terminator without a line break"),
    ({"null": "0"}, "a null that is a number"),
    ({"null": "-1.5e3"}, "a null that is a number"),
    ({"null": "a,b"}, "a null that shares a character with the delimiter"),
    ({"null": '"'}, "a null that shares a character with the delimiter, terminator or quote"),
    ({"quote": "", "null": "\\0\\"}, "a null that may also be a text"),
    ({"delimiter": "-"}, "characters that numbers have"),
    ({"terminator": "00"}, "characters that numbers have"),
    ({"terminator": ",\n"}, "a terminator that shares a character"),
]


@pytest.mark.parametrize(("settings", "message"), READ_IN_TWO_WAYS)
def test_settings_that_make_files_ambiguous_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    options = Options(**settings, include_commit_ts=True)
    assert encoded([], options) == b""
    with pytest.raises(ConfigError, match=f"read in two ways: .*{message}"):
        decode(b"", PAIR, options)


SIGNS = "|+-,0nrN\\"


def legible(settings: dict[str, Any]) -> bool:
    try:
        require_legible(Options(**settings))
    except ConfigError:
        return False
    return True


@given(
    settings=st.fixed_dictionaries(
        {
            "delimiter": st.text(SIGNS, min_size=1, max_size=3),
            "quote": st.sampled_from(["", '"', "'"]),
            "null": st.one_of(st.just("\\N"), st.text(SIGNS, max_size=3)),
            "terminator": st.sampled_from(["\r\n", "\n", "|\n", "+", "x\r"]),
        }
    ).filter(legible),
    rows_=st.lists(
        st.tuples(*[st.none() | st.text(SIGNS + "x'\"\r\n", max_size=4)] * 2), max_size=4
    ),
)
@example(
    settings={"delimiter": "|,", "quote": "", "null": "\\N", "terminator": "\n"}, rows_=[("|", "")]
)
def test_what_is_written_with_settings_that_are_taken_is_read(
    settings: dict[str, Any], rows_: list[tuple[str | None, ...]]
) -> None:
    options = Options(**settings, include_commit_ts=True)
    table = parse_create_table("create table t (id int, a text, b text)", "s")
    numbers = [None, 0, -1, 11]
    changes = [
        RowChange(table, n, None, {"id": numbers[n % 4], "a": a, "b": b})
        for n, (a, b) in enumerate(rows_, 1)
    ]
    assert decode(encoded(changes, options), table, options) == changes


@pytest.mark.parametrize(("make", "message"), SETTINGS)
def test_settings_that_ticdc_refuses_are_refused(make: Callable[[], Options], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


UNWRITABLE: list[tuple[Row, str]] = [
    ({"id": 1, "b": None}, "column `e` of s.t, enum: not in the row"),
    ({"id": 1, "b": "x", "e": 1}, "column `b` of s.t, varbinary: not bytes"),
    ({"id": 1, "b": None, "e": 0}, "column `e` of s.t, enum: not one of the members"),
]


@pytest.mark.parametrize(("row", "message"), UNWRITABLE)
def test_a_row_that_cannot_be_written_names_its_column(row: Row, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        encoded([RowChange(PAIR, 5, None, row)], TIMED)
    assert str(caught.value) == message


# The quick way and the plain one.

SMALL = parse_create_table(
    "create table t (id int primary key, n bigint, p decimal(6,2), s varchar(9), b blob)", "s"
)
STRANGE = st.text(alphabet="a\"',;\\N\r\n\t\x85é", max_size=4)
SMALL_ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 9),
        "n": st.none() | st.integers(-9, 9),
        "p": st.none() | st.just(Decimal("1.50")),
        "s": st.none() | STRANGE,
        "b": st.none() | st.binary(max_size=2),
    }
)
DIALECTS = st.builds(
    Options,
    delimiter=st.sampled_from([",", ";"]),
    quote=st.sampled_from(['"', "'"]),
    terminator=st.sampled_from(["\r\n", "\n"]),
    null=st.sampled_from(["\\N", "NULL", "a"]),
    include_commit_ts=st.just(True),
    output_old_value=st.booleans(),
)


def outcome(data: bytes, options: Options) -> Any:
    try:
        return decode(data, SMALL, options)
    except WireError as error:
        return str(error)


@pytest.mark.slow
@given(
    st.lists(st.tuples(SMALL_ROWS, SMALL_ROWS, st.sampled_from("IUD")), min_size=1, max_size=4),
    DIALECTS,
    st.sampled_from([1, 40, 1000]),
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["", *"\"',;\r\n\\N5aI"])), max_size=3),
)
@settings(max_examples=400)
def test_a_file_says_the_same_read_quickly_or_not(
    rows: list[tuple[Row, Row, str]],
    options: Options,
    piece: int,
    mutations: list[tuple[int, str]],
) -> None:
    changes = [
        RowChange(SMALL, 5, None if kind == "I" else old, None if kind == "D" else new)
        for old, new, kind in rows
    ]
    text = encoded(changes, options).decode()
    for at, character in mutations:
        at %= len(text)
        text = text[:at] + character + text[at + 1 :]
    with mock.patch.object(csv_fields, "PIECE", piece):
        quickly = outcome(text.encode(), options)
    with mock.patch.object(csv_rows, "columns_of", lambda *_: None):
        assert quickly == outcome(text.encode(), options)


def test_the_text_of_null_stays_text_beside_unquoted_strings() -> None:
    data = b'"I","t","s",5,1,\\N,\\N,"\\N",\\N\r\n"I","t","s",5,2,\\N,\\N,x,\\N\r\n'
    rows = [change.after for change in decode(data, SMALL, TIMED)]
    assert [row and row["s"] for row in rows] == ["\\N", "x"]


def test_a_regular_file_is_read_quickly() -> None:
    row = {"id": 1, "n": None, "p": Decimal("1.50"), "s": 'a "b"\r\n', "b": b"\xff"}
    data = encoded([RowChange(SMALL, 5, None, row)], TIMED)
    with mock.patch.object(csv.format, "fields", lambda *_: iter(())):
        assert decode(data, SMALL, TIMED) == [RowChange(SMALL, 5, None, row)]


def test_a_quote_within_an_unquoted_field_is_refused() -> None:
    # As many quotes as a regular file of these rows has: three in the first row, one in the third.
    data = (
        b'"I","t","s",5,0,\\N,\\N,\';;""",\\N\n'
        b'"I","t","s",5,0,\\N,\\N,\\N,\\N\n'
        b'"I","t","s",5,0,\\N,\\N,\\","AA=="\n'
    )
    options = Options(include_commit_ts=True, terminator="\n")
    with pytest.raises(WireError, match="not csv of these settings"):
        decode(data, SMALL, options)
