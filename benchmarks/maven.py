"""Published jars of a peer, brought by Maven once and kept in the cache of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from benchmarks.side import MissingError
from tests.support.kafka.jars import cache_directory, class_path

__all__ = ["class_path", "need_java", "published_jars"]


def need_java() -> None:
    """Raise MissingError without Java or Maven."""
    for command, package in (("java", "default-jdk-headless"), ("javac", "default-jdk-headless"), ("mvn", "maven")):
        if shutil.which(command) is None:
            raise MissingError(f"{command} is not installed: on Debian, apt-get install {package}")


def published_jars(name: str, artifacts: Iterable[tuple[str, str, str]]) -> Path:
    """The directory `name` of the cache, with these artifacts (group, artifact, version) and what they depend on.

    Raises:
        MissingError: Maven cannot bring them.
    """
    cache = cache_directory()
    jars = cache / name
    if jars.is_dir():
        return jars
    cache.mkdir(parents=True, exist_ok=True)
    pom, partial = cache / f"{name}-{os.getpid()}.pom.xml", cache / f"{name}.partial-{os.getpid()}"
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        "</dependency>"
        for group, artifact, version in artifacts
    )
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>peer</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
    )
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        pom.unlink()
    if done.returncode != 0:
        raise MissingError(f"Maven cannot bring {name}: {done.stdout[-1000:]}")
    partial.rename(jars)
    return jars
