"""`python -m xlate` is the command `xlate`; torchrun starts ranks with it."""

import sys

from xlate.cli.main import start

if __name__ == "__main__":
    sys.exit(start())
