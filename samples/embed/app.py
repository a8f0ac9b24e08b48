"""A page of live account balances: the consumer inside a web application.

It shows the embedding API: a thread applies cut after cut, and after each `Epoch`, which is one
commit of the target, the accounts are read and sent to every open page. So a page only ever shows
the upstream at one timestamp, and its total never changes, however fast money is moved.

    python samples/embed/app.py                          # a shop of its own; http://127.0.0.1:8000
    python samples/embed/app.py samples/shop/shop.toml   # accounts that you replicate already
"""

import argparse
import json
import logging
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa
from flask import Flask, Response, send_file
from ticdc_consumer import Consumer, Settings, TicdcError
from ticdc_consumer.testing.mock_kafka import MockKafka
from ticdc_encoder.tso import duration, lag, with_time
from werkzeug.serving import make_server

HERE = Path(__file__).resolve().parent


class Balances:
    """What the last commit held; `following` waits for the next one."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._number = 0
        self._text = "{}"
        self.ended = False

    def tell(self, state: object) -> None:
        with self._news:
            self._number += 1
            self._text = json.dumps(state)
            self._news.notify_all()

    def end(self, why: str) -> None:
        self.ended = True
        self.tell({"ended": why})

    def following(self) -> Iterator[str]:
        """The newest text, and again with every commit: whoever is slow skips some."""
        seen = -1
        while True:
            with self._news:
                self._news.wait_for(lambda seen=seen: self._number > seen)  # type: ignore[misc]
                seen, text = self._number, self._text
            yield f"data: {text}\n\n"
            if self.ended:
                return


class Replica(threading.Thread):
    """Applies the changefeed until `stop`, and tells the balances after each commit."""

    def __init__(self, options: Settings, balances: Balances) -> None:
        super().__init__(name="replica", daemon=True)
        self._options = options
        self._balances = balances
        self._stopping = threading.Event()
        self._consumer: Consumer | None = None

    def run(self) -> None:
        engine = sa.create_engine(self._options.target_url)
        try:
            with Consumer(self._options) as consumer:
                self._consumer = consumer
                accounts = accounts_of(*consumer.locate("shop", "accounts"))
                if self._stopping.is_set():
                    return
                for epoch in consumer:
                    if sa.inspect(engine).has_table(accounts.name, accounts.schema):
                        self._balances.tell(read(engine, accounts, epoch.resolved_ts, epoch.rows))
        except TicdcError as error:
            print(f"app: {error}", file=sys.stderr, flush=True)
            self._balances.end(str(error))
        else:
            self._balances.end("the application was stopped")
        finally:
            engine.dispose()

    def stop(self) -> None:
        self._stopping.set()
        if self._consumer is not None:
            self._consumer.stop()
        self.join()


def accounts_of(schema: str | None, name: str) -> sa.TableClause:
    """The upstream's shop.accounts, where the target has it."""
    columns = [sa.column("id"), sa.column("owner"), sa.column("balance", sa.BigInteger)]
    return sa.table(name, *columns, schema=schema)


def read(
    engine: sa.Engine, accounts: sa.TableClause, resolved_ts: int, rows: int
) -> dict[str, object]:
    owner, balance = accounts.c.owner, accounts.c.balance
    richest_first = sa.select(owner, balance).order_by(balance.desc(), accounts.c.id)
    sums = sa.select(sa.func.count(), sa.func.sum(balance)).select_from(accounts)
    with engine.connect() as connection:
        # Nothing changes between the two: the next cut is applied when the loop goes on.
        richest = connection.execute(richest_first.limit(12)).all()
        count, total = connection.execute(sums).one()
    return {
        "reached": with_time(resolved_ts),
        "lag": duration(lag(resolved_ts)),
        "rows": rows,
        "accounts": [[owner, int(balance)] for owner, balance in richest],
        "count": count,
        "total": int(total or 0),
    }


def application(balances: Balances) -> Flask:
    app = Flask(__name__)

    @app.get("/")
    def page() -> Response:
        return send_file(HERE / "page.html")

    @app.get("/balances")
    def stream() -> Response:
        return Response(balances.following(), mimetype="text/event-stream")

    return app


def own_shop(stack: ExitStack) -> Settings:
    """A Kafka inside this process, and the sample shop that writes into it."""
    kafka = stack.enter_context(MockKafka())
    kafka.create_topic("shop", 4)
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    options = Settings.read(HERE.parent / "shop" / "shop.toml")
    shop = subprocess.Popen(
        [sys.executable, HERE.parent / "shop" / "shop.py", kafka.bootstrap, "shop"],
        stdout=subprocess.DEVNULL,
    )
    stack.callback(shop.wait)
    stack.callback(shop.terminate)
    return replace(
        options,
        kafka={**options.kafka, "bootstrap.servers": kafka.bootstrap},
        target_url=f"sqlite:///{folder}/shop.db",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("config", nargs="?", help="of a changefeed with the shop's accounts")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as stack:
        options = Settings.read(arguments.config) if arguments.config else own_shop(stack)
        balances = Balances()
        replica = Replica(options, balances)
        server = make_server("127.0.0.1", arguments.port, application(balances), threaded=True)
        replica.start()
        stack.callback(replica.stop)
        print(f"http://127.0.0.1:{server.port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
    except TicdcError as error:
        raise SystemExit(f"app: {error}") from None
