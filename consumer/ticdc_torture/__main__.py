"""`python -m ticdc_torture`: the command line."""

import sys

from ticdc_torture.cli import main

sys.exit(main())
