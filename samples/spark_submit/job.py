"""The consumer as a job of a Spark cluster: see README.md beside it.

    spark-submit ... job.py CONFIG [caught-up]

The driver plans, and holds the one connection to the target; the executors read Kafka.
"""

import sys

from ticdc_consumer import Consumer, TicdcError, load


def main(path: str, until_caught_up: bool) -> None:
    # Without a session of yours, `Consumer` makes one: spark-submit's settings, then our defaults.
    with Consumer(load(path)) as consumer:
        for epoch in consumer.epochs("caught-up" if until_caught_up else None):
            print(f"R {epoch.resolved_ts}: {epoch.changes:,} changes, {epoch.rows:,} rows applied")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["caught-up"]):
        raise SystemExit("usage: job.py CONFIG [caught-up]")
    try:
        main(sys.argv[1], sys.argv[2:] == ["caught-up"])
    except TicdcError as error:
        print(f"job: {error}", file=sys.stderr)
        raise SystemExit(getattr(error, "exit_code", 3)) from None
