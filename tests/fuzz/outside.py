"""What comes from elsewhere than a topic: claim checks, a storage's files, exported checkpoints."""

import json
import tempfile
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import get_args

import fsspec  # type: ignore[import-untyped]
from fuzz.mutator import Record
from fuzz.subject import Subject, text_of
from support.golden import scenario
from support.loading import ACCOUNTS, CHANGEFEED, bank, options
from ticdc_consumer.commands.export import document_of, exported, imported
from ticdc_consumer.source.storage.directories import (
    directory_of,
    partition_of,
    require_date,
    settled,
)
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.schema import METADATA
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import RowChange
from ticdc_encoder.formats import canal_json
from ticdc_encoder.formats.claim_check import ClaimCheckStorage, redeem
from ticdc_encoder.kafka.records import records_of_lines
from ticdc_encoder.storage.layout import DateSeparator, PathLayout, checkpoint_ts, last_number

PLACE = "fuzzed-claim-checks"


def claim_check() -> Subject:
    """A message, and the file that it names; with `claim-check-raw-value`, too."""
    decode = partial(canal_json.decode, options=canal_json.Options())
    corpus: list[Record] = []
    for name in ("canal-json.claim-check", "canal-json.claim-check-raw"):
        variant = scenario("large").variants[name]
        contents = {Path(path).name: content for path, content in variant.claim_checks.items()}
        for record in variant.records:
            for event in decode(record.key, record.value):
                if isinstance(event, RowChange) and event.claim_check:
                    content = contents[event.claim_check.rpartition("/")[2]]
                    corpus += [(record.value, content)] if len(content) < 8000 else []
    files = fsspec.filesystem("memory")
    wrapped, raw = (ClaimCheckStorage(f"memory://{PLACE}", raw_value=r) for r in (False, True))

    def run(record: Record) -> None:
        for event in decode(None, record[0]):
            if not isinstance(event, RowChange) or not event.claim_check:
                continue
            name = event.claim_check.rpartition("/")[2]
            content = record[1] or b""
            if name.endswith(".json"):
                files.pipe_file(f"/{PLACE}/{name}", content)
            try:
                redeem(event, wrapped if content.startswith(b'{"key"') else raw, decode)
            finally:
                files.store.clear()

    return Subject(corpus, run)


LAYOUTS = [
    PathLayout(date_separator=separator, table_id_paths=by_id)
    for separator, by_id in product(get_args(DateSeparator), (False, True))
]


def storage_path() -> Subject:
    """A path, and the content of an index or of the metadata."""
    paths = [
        "shop/orders/450000000000000000/CDC000001.csv",
        "shop/orders/450000000000000000/12/2024-01-31/CDC00000000000000000001.json",
        "shop/orders/450000000000000000/2024-02/CDC_5a1f2c4e-0000-4000-8000-0123456789ab_7.csv",
        "shop/orders/450000000000000000/2024/meta/CDC.index",
        "7/450000000000000000/meta/CDC_5a1f2c4e-0000-4000-8000-0123456789ab.index",
        "shop/orders/meta/schema_450000000000000000_0123456789.json",
        "shop/meta/schema_1_18446744073709551615.json",
        "7/meta/schema_450000000000000000_0123456789.json",
        "metadata",
    ]
    contents = [b"CDC000007.json\n", b'{"checkpoint-ts":450000000000000000}']

    def run(record: Record) -> None:
        path = text_of(record)
        for layout in LAYOUTS:
            layout.index(path)
            layout.schema_path(path)
            file = layout.data_file(path)
            if file is not None:
                assert directory_of(layout, partition_of(file.directory)) == file.directory
                settled(file.directory, 450000000000000000)
                require_date(file.directory)
        if "index" in path:
            last_number(record[1] or b"")
        else:
            checkpoint_ts(record[1] or b"")

    return Subject([(path.encode(), text) for path in paths for text in contents], run)


def checkpoint() -> Subject:
    """A document of `export`; what `import` takes of it can be read afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    url = f"sqlite:///{folder / 'target.db'}"
    target = open_target(url)
    target.execute("PRAGMA synchronous = OFF").close()
    here, settings = bank(target), options(url)
    new = replace(here.new, schemas={("bank", "accounts", 5): replace(ACCOUNTS, version=5)})
    with target.transaction():
        here.store.lock(here.old)
        here.store.ledger.define_all([ACCOUNTS], "seen")
        here.store.ledger.add([LedgerEntry(150, 1, "bank", "a", "DROP TABLE a", 4, "done")])
        here.store.quarantine.add(SetAside.of(("bank", "accounts"), here.old, "a reason"))
        here.store.write(here.old, new)
    written = exported(target, settings)

    def run(record: Record) -> None:
        _forget(target)
        imported(target, settings, document_of(text_of(record), "checkpoint.json"))
        store = Store(target, CHANGEFEED)
        store.start(0.1)
        store.quarantine.tables()
        store.ledger.entries()
        store.ledger.dropped()
        known = store.ledger.known()
        assert known.created is not None

    return Subject([(json.dumps(written).encode(),)], run)


def _forget(target: Target) -> None:
    """As a target is whose tables were moved without those of the consumer."""
    if target.connection.in_transaction():
        target.connection.rollback()
    for table in reversed(METADATA.sorted_tables):
        target.execute(f"DELETE FROM {table.name}").close()  # noqa: S608


def records_file() -> Subject:
    """A file of Kafka's records."""
    corpus: list[Record] = [
        (b'{"topic":"t","partition":0,"offset":5,"key":null,"value":"eyJpZCI6MX0="}\n',),
        (b'{"topic":"t","partition":0,"payload":"{\\"id\\":1}","key":"k"}\n{"id":0}\n',),
    ]

    def run(record: Record) -> None:
        list(records_of_lines((record[0] or b"").splitlines(keepends=True), "file"))

    return Subject(corpus, run)
