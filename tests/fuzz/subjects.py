"""What is fuzzed: each subject has a corpus, and a function that may raise our errors only."""

import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from fuzz.mutator import Record
from fuzz.outside import checkpoint, claim_check, records_file, storage_path
from fuzz.subject import Subject, golden_variants, records, text_of
from support.both_paths import decoded, fast_for, job_of, learning_at_once, same, tables_in
from support.both_paths import options_for as options_of_consumer
from support.ddl_cases import CASES, cases
from support.fast_messages import PEOPLE, PERSON
from support.wire_simple import simple_options
from ticdc_consumer import config
from ticdc_consumer.protocols import decoder
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.filters.expression import condition
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.formats import FORMATS, csv
from ticdc_encoder.formats.registry import MemoryRegistry
from ticdc_encoder.formats.simple import Decoder
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.storage.schema_file import parse_schema_file

FAULT = "fault of this program"
"""What the reader says of an exception that is not ours."""


def _fast(protocol: str, *variants: str) -> Subject:
    """Both paths of a protocol, behind messages that both know."""
    known = [(r[0], r[1]) for r in records(golden_variants(*variants), 25)]
    options = options_of_consumer(protocol)
    decode = decoder(options)
    job = job_of(options, tables_in(decoded(options, known)))

    def run(record: Record) -> None:
        decode(record[0], record[1])
        reader = fast_for(job)
        with learning_at_once():
            alike = [r for r in known if (r[1] or b"")[:200] == (record[1] or b"")[:200]]
            result = same(job, [*alike[:3], (record[0], record[1])], reader)
        assert not any(FAULT in words for words in result.error), result.error

    return Subject(known, run)


def _plain(protocol: str, *variants: str) -> Subject:
    decode = decoder(options_of_consumer(protocol))
    return Subject(records(golden_variants(*variants)), lambda record: decode(record[0], record[1]))


def _simple(name: str) -> Subject:
    variants = golden_variants(name)
    options = simple_options(variants[0])
    known = Decoder(options)
    for variant in variants:
        for record in variant.records:
            known.decode(record.key, record.value)
    tables = known.tables

    def run(record: Record) -> None:
        seasoned = Decoder(options, tables)
        try:
            seasoned.decode(record[0], record[1])
        finally:
            seasoned.decode(record[0], record[1])

    return Subject(records(variants), run)


def _avro(protocol: str, name: str) -> Subject:
    variants = golden_variants(name)
    schemas = {schema["id"]: schema["schema"] for v in variants for schema in v.schemas}
    options = FORMATS[protocol].Options(registry=MemoryRegistry(schemas))
    decode = FORMATS[protocol].decode
    return Subject(records(variants), lambda record: decode(record[0] or b"", record[1], options))


def _csv() -> Subject:
    (variant, *_) = golden_variants("csv.committs-oldvalue")
    settings = tomllib.loads(variant.config_toml)["sink"]["csv"]
    settings.pop("output-handle-key", None)
    options = csv.Options(**{name.replace("-", "_"): value for name, value in settings.items()})
    schemas = [data for path, data in variant.files.items() if "/schema_" in path]
    data = [text for path, text in variant.files.items() if path.endswith(".csv")]
    corpus = [(schema, text[:4000]) for schema in schemas for text in data[:8]]

    def run(record: Record) -> None:
        table = parse_schema_file(None, record[0] or b"").table
        if table is not None:
            list(csv.decode(record[1] or b"", table, replace(options, require_commit_ts=False)))

    return Subject(corpus, run)


def _ddl() -> Subject:
    told = [
        event.query
        for v in golden_variants("simple.json")
        for r in v.records
        for _, event in Decoder(simple_options(v)).decode(r.key, r.value)
        if hasattr(event, "query")
    ]
    of_cases = [
        text
        for file in sorted(CASES.glob("*.sql"))
        for case in cases(file)
        for text in (case.table, case.statement)
    ]
    corpus: list[Record] = [(text.encode(),) for text in dict.fromkeys([*told, *of_cases]) if text]
    return Subject(corpus, lambda record: parse_ddl(text_of(record), "shop"))


EXPRESSIONS = (
    "id = 1 and name <> 'x' or age is null",
    "age between 1 and 30.5 and not (weight <=> null)",
    "lower(name) like 'a%\\\\_' xor id in (1, 2, '3')",
    "coalesce(age, ifnull(id, 7)) % 3 * 2 - -1 >= 1e3",
    "char_length(story) + length(photo) > 0x10 is true",
    "name >= 'Ann' && token = X'89500A' || !(id = 18)",
)
PATTERNS = ("*.*", "!shop.*", "shop.or?er[0-9]", '`a b`."c"', "/^sh(op|ips)$/.*", "a\\.b.*", "@x")


def _expression() -> Subject:
    def run(record: Record) -> None:
        condition(text_of(record), PEOPLE)(PERSON)

    return Subject([(text.encode(),) for text in EXPRESSIONS], run)


def _patterns() -> Subject:
    def run(record: Record) -> None:
        TableFilter((text_of(record),)).matches("shop", "a" * 30)

    return Subject([(text.encode(),) for text in PATTERNS], run)


CONFIGURATION = """changefeed = "fuzz"
protocol = "canal-json"
from_ts = "2024-01-01 00:00:00+00:00"
[kafka]
topics = ["^shop_.*", "orders"]
"bootstrap.servers" = "localhost:1"
log_level = 0
[source]
time_zone = "Asia/Shanghai"
upstream = "mysql+pymysql://user:word@tidb:4000"
[target]
url = "postgresql+psycopg://user@host/db?x=1"
password = "word"
rules = []
[tables]
filter = ["shop.*", "!*.tmp"]
case_sensitive = true
[tables.route]
"shop.*" = "copy.{table}"
[tables.keys]
"shop.orders" = ["id"]
[ddl]
on_unsupported = "skip"
keep_dropped = "24h"
[ddl.kinds]
"CREATE VIEW" = "skip"
[limits]
memory_budget = "64 MiB"
rows_per_epoch = 1000
clock_skew = 1.5
[metrics]
listen = "127.0.0.1:9464"
[spark]
master = "local[2]"
"""


def _configuration() -> Subject:
    file = Path(tempfile.mkdtemp(prefix="fuzz-"), "changefeed.toml")

    def run(record: Record) -> None:
        text = record[0] or b""
        if b"_file" in text or b"oauth_cb" in text or b"plugin" in text:
            return  # they read other files, or run other code
        file.write_bytes(text)
        config.Settings.read(file, environ={})

    return Subject([(CONFIGURATION.encode(),)], run)


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "canal-json": partial(_fast, "canal-json", "canal-json.ext", "classic.canal-json.ext"),
    "open-protocol": partial(_fast, "open-protocol", "open.batch1", "classic.open.batch16"),
    "simple": partial(_simple, "simple.json"),
    "simple-avro": partial(_simple, "simple.avro"),
    "debezium": partial(_plain, "debezium", "debezium.ext"),
    "avro": partial(_avro, "avro", "avro.precise-long"),
    "debezium-avro": partial(_avro, "debezium-avro", "debezium-avro"),
    "csv": _csv,
    "ddl": _ddl,
    "expression": _expression,
    "patterns": _patterns,
    "configuration": _configuration,
    "claim-check": claim_check,
    "storage-path": storage_path,
    "checkpoint": checkpoint,
    "records-file": records_file,
}


@cache
def subject(name: str) -> Subject:
    return SUBJECTS[name]()


def failure(name: str, record: Record) -> Exception | None:
    """What this input raises, if that is no error of ours."""
    try:
        subject(name).run(record)
    except TicdcError as error:
        return AssertionError(str(error)) if FAULT in str(error) else None
    except Exception as error:  # noqa: BLE001 - it is what is looked for
        return error
    return None
