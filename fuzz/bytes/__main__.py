"""`python -m fuzz.bytes`: damaged files, blobs and properties; nothing may fall over them."""

from __future__ import annotations

import sys

from fuzz.bytes.run import main

if __name__ == "__main__":
    sys.exit(main())
