"""`python -m ticdc_consumer` is the command `ticdc-consumer`."""

import sys

from ticdc_consumer.cli import main

if __name__ == "__main__":
    sys.exit(main())
