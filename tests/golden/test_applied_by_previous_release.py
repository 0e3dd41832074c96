"""Directories that the previous release repaired are undone by today's command, at another path."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import Final

import pytest

from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

_REPAIRED: Final = FIXTURES / "repaired-d572b3a.tar.xz"
_BEFORE: Final = "before.sha256"
_NAMES: Final = (
    "cluster-id", "drop-snapshot", "from-broker", "interrupted", "rebuild-indexes", "standalone", "static-voters",
    "trim", "truncate", "twice", "voters",
)  # fmt: skip


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directories with their backups, unpacked."""
    place = tmp_path_factory.mktemp("repaired")
    with tarfile.open(_REPAIRED) as archive:
        archive.extractall(place, filter="data")
    return place


def test_all_of_the_archive_is_undone(repaired: Path) -> None:
    assert sorted(path.name for path in repaired.iterdir()) == list(_NAMES)


@pytest.mark.parametrize("name", _NAMES)
def test_undo_restores_every_byte(name: str, repaired: Path, tmp_path: Path) -> None:
    place = shutil.copytree(repaired / name, tmp_path / "another place")
    before = _stored(place)
    assert _digests(place) != before

    for backups in sorted(place.rglob("data.recovery")):
        assert _recover("undo", str(backups.with_name("data"))) == 0

    assert _digests(place) == before


def test_the_same_command_finishes_an_interrupted_repair(repaired: Path, tmp_path: Path) -> None:
    place = shutil.copytree(repaired / "interrupted", tmp_path / "another place")
    journal = json.loads((place / "data" / "kraft-recover.journal").read_text())
    promised = {f"./data/{file['name']}": file["after"] for file in journal["files"]}
    before = _stored(place)

    assert _recover("standalone", str(place / "data"), "--missing", "rest") == 0

    after = _digests(place)
    assert after.pop("./data/.lock")
    assert after == {**before, **promised}
    assert _recover("undo", str(place / "data")) == 0
    assert _digests(place) == before


def _recover(action: str, directory: str, *words: str) -> int:
    return run(["recover", action, "--dir", directory, "--apply", *words])


def _stored(place: Path) -> dict[str, str]:
    """Return the digest of each file before the repair, as it was stored then."""
    lines = (line.split(maxsplit=1) for line in (place / _BEFORE).read_text().splitlines())
    return {name: digest for digest, name in lines}


def _digests(place: Path) -> dict[str, str]:
    """Return the digest of each file now, but for the backups."""
    return {
        f"./{path.relative_to(place)}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.rglob("*")
        if path.is_file() and path.name != _BEFORE and "data.recovery" not in path.parts
    }
