"""The consumer as a job of a Spark cluster: `ticdc-consumer` with all its options. See README.md.

    spark-submit ... job.py run CONFIG --until caught-up

The driver plans, and holds the one connection to the target; the executors read Kafka.
"""

import sys

from ticdc_consumer.cli import main

if __name__ == "__main__":
    # Without a session of yours, `Consumer` makes one: spark-submit's settings, then our defaults.
    sys.exit(main())
