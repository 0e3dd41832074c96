"""Kafka's releases that tests can run, as published jars: downloaded once by Maven, kept in a cache directory.

The cache is `$KRAFT_TEST_CACHE`, or `.cache` in the checkout; no jar is in the repository. Any release from 3.3 on can
run. Main classes that moved between releases are looked up in the jars.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from tests.support.made_once import made_once

NEWEST: Final = "4.4.0"
PREVIOUS: Final = "4.3.0"
"""The previous release: the newest one whose metadata shell is published."""
BEFORE_4: Final = "3.9.1"


class Release(msgspec.Struct, frozen=True):
    """One release: the highest metadata.version of its production, and its limits that tests must know."""

    metadata_version: str
    level: int
    dynamic_voters: bool = True
    """True if its controllers and brokers know `controller.quorum.bootstrap.servers`, and voters in the log."""
    has_shell: bool = True

    @property
    def lowest_level(self) -> int:
        """Return the lowest metadata.version that it supports: 3.3-IV3 from 4.0 on."""
        return 7 if self.level > RELEASES[BEFORE_4].level else 1


RELEASES: Final[Mapping[str, Release]] = {
    "3.3.2": Release("3.3-IV3", 7, dynamic_voters=False),
    "3.4.1": Release("3.4-IV0", 8, dynamic_voters=False),
    "3.5.2": Release("3.5-IV2", 11, dynamic_voters=False),
    "3.6.2": Release("3.6-IV2", 14, dynamic_voters=False),
    "3.7.2": Release("3.7-IV4", 19, dynamic_voters=False),
    "3.8.1": Release("3.8-IV0", 20, dynamic_voters=False),
    BEFORE_4: Release("3.9-IV0", 21),
    "4.0.1": Release("4.0-IV3", 25),
    "4.1.1": Release("4.1-IV1", 27),
    "4.2.0": Release("4.2-IV1", 29),
    PREVIOUS: Release("4.3-IV0", 30),
    NEWEST: Release("4.4-IV2", 33, has_shell=False),
}
_ARTIFACTS = ("kafka_2.13", "kafka-tools", "kafka-shell")
_NEVER_RUN = ("connect-api", "connect-json", "connect-runtime", "connect-transforms")
"""Dependencies of kafka-tools that are never run; not every release of them is published."""
_ROOT = Path(__file__).resolve().parents[3]


def cache_directory() -> Path:
    """Return the directory that keeps the jars."""
    return Path(os.environ.get("KRAFT_TEST_CACHE") or _ROOT / ".cache").absolute()


def _pom(version: str) -> str:
    wanted = [
        ("org.apache.kafka", artifact, version)
        for artifact in _ARTIFACTS
        if artifact != "kafka-shell" or version not in RELEASES or RELEASES[version].has_shell
    ]
    wanted.append(("org.slf4j", "slf4j-simple", "1.7.36"))
    without = "".join(
        f"<exclusion><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId></exclusion>"
        for artifact in _NEVER_RUN
    )
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{at}</version>"
        f"<exclusions>{without}</exclusions></dependency>"
        for group, artifact, at in wanted
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>kafka-jars</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
    )


def kafka_jars(version: str) -> Path:
    """Return the directory with Kafka's jars of `version` and their dependencies.

    Raises:
        RuntimeError: Maven is not installed.
        subprocess.CalledProcessError: Maven failed.
    """
    return made_once(cache_directory() / f"kafka-{version}", lambda partial: _bring(version, partial))


def _bring(version: str, to: Path) -> None:
    if shutil.which("mvn") is None:
        raise RuntimeError("Maven brings Kafka's jars and is not here: install it (on Debian, apt-get install maven)")
    pom = to.with_name(f"{to.name}.pom.xml")
    pom.write_text(_pom(version))
    words = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={to}"]
    try:
        # One version at a time: two Mavens would write to one repository without knowing of each other.
        with to.with_name("maven.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            subprocess.run(words, check=True)
    finally:
        pom.unlink()


def class_path(jars: Path) -> str:
    """Return all jars, with slf4j-simple as the only logging binding (releases before 4.0 bring another)."""
    return ":".join(str(jar) for jar in sorted(jars.glob("*.jar")) if "reload4j-1.7" not in jar.name)


@lru_cache
def held_class(jars: Path, names: tuple[str, ...]) -> str:
    """Return the first of these classes that Kafka's jars hold: a class may have moved between releases.

    Raises:
        LookupError: the jars hold none of them.
    """
    held: set[str] = set()
    for jar in jars.glob("kafka*.jar"):
        with zipfile.ZipFile(jar) as archive:
            held.update(archive.namelist())
    for name in names:
        if name.replace(".", "/") + ".class" in held:
            return name
    raise LookupError(f"{jars.name} has none of {', '.join(names)}")
