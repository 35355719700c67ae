"""The command `accelerator`, also as `python -m accelerator`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Runs the command; says so where packages of others stand in the place of ours."""
    gc.disable()  # what is imported stays; whoever opens the session collects again
    try:
        from accelerator.cli.main import main as command
        from accelerator.cli.terminal import keep_standard_streams

        keep_standard_streams()
        command()
    except ImportError:
        from accelerator.session.package_check import faults

        found = faults()
        if not found:
            raise
        sentence, hint = found[0]
        sys.exit(f"error [names]: {sentence}\nhint: {hint}")


if __name__ == "__main__":
    main()
