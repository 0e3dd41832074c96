"""`kraft docs`: the list of pages, a page, names that no page has, and which pages a wheel holds."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from metadata_log.tools.findings import advice
from quorum.cli.docs import complete_page, folder_of
from quorum.cli.main import run

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
NOT_COPIED = (".*", "__pycache__", "*.egg-info", "build", "demo-out", "kraft-dev", "tests")
"""Among them what other tests write to meanwhile."""
NAMES = sorted(path.relative_to(DOCS).as_posix().removesuffix(".md") for path in DOCS.rglob("*.md"))
PAGES = [name for name in NAMES if name != "README"]
KRAFT = [sys.executable, "-m", "quorum.cli.main"]
CITED = re.compile(r"kraft docs ([a-z][a-z/-]+)")


def test_the_list_has_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["docs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(named) == sorted(name.removesuffix("/README") for name in PAGES)
    assert [line for line in lines if re.fullmatch(r"\w+", line)] == ["Operate", "Repair", "Understand", "Change"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_printed_as_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / f"{name}.md").read_text()
    for word in (name.removesuffix("/README"), f"docs/{name}.md"):
        assert run(["docs", word]) == 0
        assert capsys.readouterr() == (text, "")


def test_a_terminal_gets_a_pager() -> None:
    master, terminal = pty.openpty()
    words = [*KRAFT, "docs", "runbooks/cloned-volume"]
    environment = {**os.environ, "PAGER": "sed 's/^# Cloned volume/# Paged/'", "TERM": "xterm"}
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdin=terminal, stdout=terminal) as shown:
        os.close(terminal)
        printed = _all_of(master)
    assert shown.returncode == 0
    assert printed.startswith(b"# Paged\r\n\r\nFor an operator")


def _all_of(master: int) -> bytes:
    """Return all that is written to a terminal until it is closed, which Linux reports as an error of input."""
    printed = bytearray()
    with open(master, "rb", buffering=0) as reader, contextlib.suppress(OSError):
        while part := reader.read(4096):
            printed += part
    return bytes(printed)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("cloned-volume", "did you mean runbooks/cloned-volume?"),
        ("runbooks/cloned-volumes", "did you mean runbooks/cloned-volume?"),
        ("metric", "did you mean metrics?"),
        ("quorum", "did you mean mixed-quorum or broken-quorum or runbooks/another-quorum?"),
        ("nothing-like-it", "`kraft docs` lists all pages"),
        ("../CONTRIBUTING", "`kraft docs` lists all pages"),
        ("README", "`kraft docs` lists all pages"),
    ],
)
def test_a_name_that_no_page_has(word: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["docs", word]) == 2
    assert capsys.readouterr() == ("", f"kraft: {word!r} is no page: {said}\n")


def test_a_shell_completes_a_page() -> None:
    assert complete_page("runbooks/c") == ["runbooks/cloned-volume", "runbooks/corrupt-log"]
    assert complete_page("nothing-like-it") == []


def test_an_installed_package_has_its_own_pages(tmp_path: Path) -> None:
    package = tmp_path / "quorum"
    package.mkdir()
    assert folder_of(package) == tmp_path / "docs"
    (package / "pages").mkdir()
    assert folder_of(package) == package / "pages"


def test_a_wheel_holds_every_page() -> None:
    """The build takes `docs` for the package `quorum.pages`; each folder in it is a package, too."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert setuptools["package-dir"]["quorum.pages"] == "docs"
    folders = {(DOCS / name).parent.relative_to(DOCS).as_posix() for name in NAMES}
    wanted = {f"quorum.pages.{folder}".removesuffix("..") for folder in folders}
    assert wanted == {name for name in setuptools["packages"] if name.startswith("quorum.pages")}


def test_pages_that_messages_cite_exist() -> None:
    sources = [path for top in ("quorum", "metadata_log", "broker_agent") for path in (ROOT / top).rglob("*.py")]
    cited = {name for path in sources for name in CITED.findall(path.read_text())}
    assert {"runbooks/cloned-volume", "runbooks/epochs-ended", "runbooks/another-quorum", "security"} <= cited
    assert cited <= {name.removesuffix("/README") for name in PAGES}
    assert CITED.findall(advice.EPOCHS_ENDED) == ["runbooks/epochs-ended"]


@pytest.mark.campaign
def test_a_built_wheel_prints_its_pages(tmp_path: Path) -> None:
    source = tmp_path / "source"  # a build leaves files in its source
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_COPIED))
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(source)]
    subprocess.run(build, check=True)
    [wheel] = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    for name in ("runbooks/cloned-volume", "upgrade"):
        words = [*KRAFT, "docs", name]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == (DOCS / f"{name}.md").read_text()
    words = [sys.executable, "-c", "import quorum; print(quorum.__file__)"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(installed)
