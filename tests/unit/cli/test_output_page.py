"""Every command's JSON and every table's headings are as docs/output.md has them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from quorum.cli.main import run
from quorum.cli.output import SCHEMA_VERSION
from tests.support.command_json import document, wrong_keys
from tests.support.output_page import commands_with, described

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
NODE: Final = "NODE"
PLACE: Final = "PLACE"
BACKUP: Final = "BACKUP"
OFFLINE: Final[dict[str, tuple[str, ...]]] = {
    "kraft check": ("check BASIC", "check CUT"),
    "kraft log verify": ("log verify BASIC", "log verify CUT"),
    "kraft log diff": ("log diff BASIC", "log diff NODE CUT"),
    "kraft log hash": ("log hash BASIC",),
    "kraft log timeline": ("log timeline BASIC",),
    "kraft log dump": ("log dump NODE --to 20",),
    "kraft log export": ("log export NODE PLACE/export",),
    "kraft shell": (
        "shell NODE at", "shell NODE cat /image/features/metadataVersion", "shell NODE diff 30 end",
        "shell NODE find /image/topics", "shell NODE hash", "shell NODE history /image/cluster", "shell NODE ls /image",
        "shell NODE tree /image",
    ),
    "kraft features check": ("features check BASIC --target 3.9",),
    "kraft storage info": ("storage info BASIC",),
    "kraft storage version-mapping": ("storage version-mapping --release-version 4.2",),
    "kraft storage feature-dependencies": ("storage feature-dependencies --feature group.version=1",),
    "kraft storage audit": ("storage audit BROKER --image NODE",),
    "kraft snapshot save": ("snapshot save NODE PLACE/new.backup",),
    "kraft snapshot status": ("snapshot status BACKUP",),
    "kraft snapshot restore": ("snapshot restore BACKUP PLACE/restored --node-id 1",),
    "kraft recover inspect": ("recover inspect NODE CUT",),
    "kraft recover verify": ("recover verify NODE",),
    "kraft recover standalone": ("recover standalone --dir NODE --missing 2,3,11,12",),
}  # fmt: skip
"""Commands that need no node, by their names on the page; the fixtures' places are in capitals."""
NEEDS_NODES: Final = re.compile(r"kraft (topics |cluster |brokers |configs |quorum |agent |features (?!check))")
NEEDS_SPARK: Final = "kraft analyze"
REPAIR: Final = re.compile(r"kraft recover (?!inspect|verify)")


@pytest.fixture(scope="module")
def places(clusters: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A node, one that lost its log's end, a broker's directory, a backup, and an empty directory."""
    place = tmp_path_factory.mktemp("output")
    basic = FIXTURES / "basic"
    cut = shutil.copytree(basic / "node-1", place / "node-1")
    log = cut / "data" / "__cluster_metadata-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-10])
    backup = place / "a.backup"
    assert run(["snapshot", "save", str(basic / "node-1"), str(backup)]) == 0
    found = {
        "BASIC": basic,
        NODE: basic / "node-1",
        "CUT": cut,
        "BROKER": clusters / "basic" / "node-11",
        BACKUP: backup,
    }
    return {name: str(path) for name, path in found.items()} | {PLACE: str(place)}


def _words(line: str, places: dict[str, str], place: Path) -> list[str]:
    at = places | {PLACE: str(place)}
    return [re.sub("|".join(at), lambda name: at[name[0]], word) for word in line.split()]


def test_the_page_has_a_row_for_each_command_with_json() -> None:
    rows = described()
    lacking = sorted(commands_with("json") - set(rows))
    assert lacking == [], f"add a row to the table of docs/output.md: {lacking}"
    gone = sorted(set(rows) - commands_with("json"))
    assert gone == [], f"docs/output.md has rows for commands without -o json: {gone}"
    offline = {name for name in rows if not NEEDS_NODES.match(name) and not REPAIR.match(name)} - {NEEDS_SPARK}
    differing = sorted(offline ^ {name for name in OFFLINE if not REPAIR.match(name)})
    assert differing == [], f"a command that asks no node needs its line in OFFLINE, no other does: {differing}"


def test_the_page_says_which_commands_print_lines() -> None:
    streams = commands_with("jsonl") - {"kraft log export"}
    assert {name for name, row in described().items() if row.as_lines.startswith(("a", "`what`"))} == streams


@pytest.mark.parametrize("line", [line for lines in OFFLINE.values() for line in lines])
def test_json_is_one_object_of_documented_keys(
    line: str, places: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name = next(name for name, lines in OFFLINE.items() if line in lines)
    run([*_words(line, places, tmp_path), "-o", "json"])
    out = capfd.readouterr().out
    assert out.count("\n") == 1 or name == "kraft log dump"
    found = document(out)
    assert "error" not in found, found
    row = described()[name]
    unnamed = set(found) - row.keys
    assert not unnamed or row.has_manifest, f"add them to the row of `{name}` in docs/output.md: {unnamed}"


@pytest.mark.parametrize("name", sorted(commands_with("jsonl") & set(OFFLINE) - {"kraft log export"}))
def test_each_line_begins_with_the_version(
    name: str, places: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run([*_words(OFFLINE[name][-1], places, tmp_path), "-o", "jsonl"])
    lines: list[dict[str, Any]] = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert lines or name == "kraft storage audit"
    for line in lines:
        assert next(iter(line.items())) == ("schema_version", SCHEMA_VERSION)
        assert list(wrong_keys(line)) == []


TABLES: Final[dict[str, Sequence[str]]] = {
    name: lines for name, lines in OFFLINE.items() if described()[name].headings[0][0] not in ("none", "a")
}


@pytest.mark.parametrize("name", sorted(set(TABLES) - {"kraft storage audit"}))
def test_headings_are_those_of_the_page(
    name: str, places: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    form = ["-o", "table"] if name == "kraft log dump" else []
    run([*_words(TABLES[name][0], places, tmp_path), *form])
    lines = [tuple(line.split()) for line in capfd.readouterr().out.splitlines()]
    assert described()[name].headings[0] in lines


def test_a_failure_has_the_version_too(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["check", str(tmp_path / "none"), "-o", "json"]) == 2
    assert set(document(capfd.readouterr().out)) == {"error"}


def test_a_key_in_camel_case_is_seen() -> None:
    assert list(wrong_keys({"a_b": [{"leaderId": 1}], "data": {"leaderId": 1}, "features": {"a.b": 1}})) == ["leaderId"]
