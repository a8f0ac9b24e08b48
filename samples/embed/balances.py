"""The richest accounts of the shop, live in the terminal: the consumer inside a program.

It shows the embedding API: each `Epoch` is one commit of the target, so whatever is read after it
is the upstream at one timestamp, `epoch.resolved_ts`.

    python samples/shop/shop.py localhost:9092 shop          # in one terminal
    python samples/embed/balances.py samples/shop/shop.toml  # in another
"""

import sys

import sqlalchemy as sa
from ticdc_consumer import config
from ticdc_consumer.consumer import Consumer
from ticdc_consumer.epoch import Epoch

RICHEST = sa.text("SELECT id, owner, balance FROM accounts ORDER BY balance DESC, id LIMIT 10")
TOTAL = sa.text("SELECT sum(balance) FROM accounts")


def main(path: str, until: str | None) -> None:
    options = config.load(path)
    engine = sa.create_engine(options.target_url)
    with Consumer(options) as consumer:
        for epoch in consumer.epochs("caught-up" if until else None):
            if sa.inspect(engine).has_table("accounts"):
                show(engine, epoch)
    engine.dispose()


def show(engine: sa.Engine, epoch: Epoch) -> None:
    with engine.connect() as connection:
        richest = connection.execute(RICHEST).all()
        total = connection.execute(TOTAL).scalar()
    # Up to the corner, and each line over the old one: nothing flickers.
    print("\x1b[H\x1b[2J" if sys.stdout.isatty() else "", end="")
    print(f"R {epoch.resolved_ts}: {epoch.rows:,} rows changed in {epoch.seconds['load']:.3f} s")
    for account in richest:
        bar = "#" * (account.balance // 5_000)
        print(f"{account.owner:>12}  {account.balance:>9,}  {bar}")
    print(f"{'total':>12}  {total or 0:>9,}", flush=True)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit("usage: balances.py CONFIG [caught-up]")
    try:
        main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None)
    except KeyboardInterrupt:
        print()
