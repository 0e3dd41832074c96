"""The extras: the list agrees with pyproject.toml; each command that needs one says so in one line, status 2."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from quorum import __version__
from quorum.cli.errors import CliError
from quorum.cli.extras import ANALYSIS, EXTRAS, how_to_install, installed_from, needs, require
from tests.support.fixture_files import FIXTURES

ROOT = Path(__file__).parents[3]
LOG = str(FIXTURES / "basic" / "node-1")
COMMANDS = [
    ["analyze", LOG],
    ["analyze", LOG, "--report", "verdict.html", "-o", "json"],
    ["demo"],
    ["log", "dump", LOG, "-o", "parquet"],
    ["log", "dump", LOG, "-o", "arrow"],
    ["log", "export", LOG, "exported", "-o", "parquet"],
    ["log", "timeline", LOG, "--picture", "picture.png"],
]


def test_the_list_is_that_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        extra: {re.split(r"[^A-Za-z0-9_-]", line)[0] for line in lines}
        for extra, lines in project["optional-dependencies"].items()
    }
    assert {extra: set(modules.values()) for extra, modules in EXTRAS.items()} == declared


def test_the_modules_are_those_of_the_packages() -> None:
    packages = metadata.packages_distributions()
    assert "py4j" in (metadata.requires("pyspark") or [""])[0]
    for module, package in EXTRAS[ANALYSIS].items():
        if module != "py4j":
            assert package.replace("-", "_") in packages[module]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_without_its_extra_says_how_to_install_it(words: list[str], tmp_path: Path) -> None:
    blocked = "; ".join(f"sys.modules[{module!r}] = None" for module in EXTRAS[ANALYSIS])
    code = f"import sys; {blocked}; from quorum.cli.main import run; sys.exit(run({words!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if line.startswith("kraft: ")]
    assert (done.returncode, len(said)) == (2, 1), done.stderr
    assert re.fullmatch(
        r"kraft: the Python package \S+ is not installed, which the extra 'analysis' brings: .*\[analysis\]'.*", said[0]
    )
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_command_names_where_this_installation_came_from() -> None:
    assert installed_from() == str(ROOT)
    assert how_to_install(ANALYSIS, "/w/my wheel.whl").endswith(" -m pip install '/w/my wheel.whl[analysis]'")


def test_without_a_source_the_command_names_a_wheel_or_a_checkout() -> None:
    said = how_to_install(ANALYSIS, None)
    wheel = f"/path/to/kraft_quorum-{__version__}-py3-none-any.whl"
    assert said == f"pip install '{wheel}[analysis]', or '.[analysis]' in a checkout"


def test_an_executable_in_one_file_names_the_wheel() -> None:
    said = how_to_install(ANALYSIS, None, is_frozen=True)
    assert said.startswith("this executable cannot load it; install the wheel: pip install '/path/to/kraft_quorum-")


def test_a_module_that_no_extra_brings_is_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError), needs(ANALYSIS):
        raise ModuleNotFoundError("no module", name="quorum.nothing")


def test_a_missing_module_is_found_without_an_import() -> None:
    require(ANALYSIS, "pyspark")
    sys.modules["resvg_py"] = None  # type: ignore[assignment]
    try:
        with pytest.raises(CliError, match="package resvg-py is not installed"):
            require(ANALYSIS, "pyspark", "resvg_py")
    finally:
        del sys.modules["resvg_py"]
