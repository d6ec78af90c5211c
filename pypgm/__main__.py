"""`python -m pypgm` is the command `pypgm`."""

import sys

from pypgm.cli import main

if __name__ == "__main__":
    sys.exit(main())
