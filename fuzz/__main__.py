"""`python -m fuzz`: random statements, accelerated and plain; the answers must be equal."""

from __future__ import annotations

import sys

from fuzz.run import main

if __name__ == "__main__":
    sys.exit(main())
