"""Whether the machine has a Java that Spark 4 runs on, said in one sentence if not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from accelerator.errors import SparkMissingError

JAVA_MIN = 17
_HINT = (
    "install a JDK 17 or 21 (Debian: apt install openjdk-17-jre-headless, macOS: brew install"
    " openjdk@17) and let JAVA_HOME name it"
)


def check_java() -> None:
    """Raise unless Spark will find a Java that it can run on."""
    java = find_java()
    if java is None:
        raise SparkMissingError("Spark needs Java, and there is none here", hint=_HINT)
    version = _major_version(java)
    if version < JAVA_MIN:
        raise SparkMissingError(
            f"Spark needs Java {JAVA_MIN} or newer, and {java} is Java {version}", hint=_HINT
        )


def find_java() -> str | None:
    """The `java` that Spark's launcher takes: JAVA_HOME's, else the first of the path."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home, "bin", "java")
        return str(java) if java.exists() else None
    return shutil.which("java")


def _major_version(java: str) -> int:
    """17 for `"17.0.15"`, 8 for `"1.8.0_392"`; 0 where it doesn't say."""
    words = [java, "-version"]
    said = subprocess.run(
        words, capture_output=True, text=True, check=False, start_new_session=True
    ).stderr  # Ctrl-C isn't for it
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else 0
