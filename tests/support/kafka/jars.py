"""Kafka's published jars: brought once by Maven, kept in a cache directory, never in the repository.

The cache is `$KRAFT_TEST_CACHE`, else `.cache` in the checkout.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from tests.support.made_once import made_once

_ARTIFACTS = ("kafka_2.13", "kafka-tools", "kafka-shell")
_NOT_PUBLISHED = {("kafka-shell", "4.4.0")}
"""What Maven does not have. A test that needs the metadata shell uses an older release."""
_ROOT = Path(__file__).resolve().parents[3]


def cache_directory() -> Path:
    """Where the jars are kept."""
    return Path(os.environ.get("KRAFT_TEST_CACHE") or _ROOT / ".cache").absolute()


def _pom(version: str) -> str:
    wanted = [
        ("org.apache.kafka", artifact, version) for artifact in _ARTIFACTS if (artifact, version) not in _NOT_PUBLISHED
    ]
    wanted.append(("org.slf4j", "slf4j-simple", "1.7.36"))
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{at}</version></dependency>"
        for group, artifact, at in wanted
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>kafka-jars</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
    )


def kafka_jars(version: str) -> Path:
    """The directory that holds Kafka's jars of `version` and what they depend on.

    Raises:
        RuntimeError: without Maven.
        subprocess.CalledProcessError: when Maven cannot bring them.
    """
    return made_once(cache_directory() / f"kafka-{version}", lambda partial: _bring(version, partial))


def _bring(version: str, to: Path) -> None:
    if shutil.which("mvn") is None:
        raise RuntimeError("Maven brings Kafka's jars and is not here: install it (on Debian, apt-get install maven)")
    pom = to.with_name(f"{to.name}.pom.xml")
    pom.write_text(_pom(version))
    words = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={to}"]
    try:
        # Of all versions one at a time: two Mavens do not know of each other in what they write to one repository.
        with to.with_name("maven.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            subprocess.run(words, check=True)
    finally:
        pom.unlink()


def class_path(jars: Path) -> str:
    """All jars, with slf4j-simple as the only logging binding (3.9 brings one of its own)."""
    return ":".join(str(jar) for jar in sorted(jars.glob("*.jar")) if "reload4j-1.7" not in jar.name)
