"""Carries the plan of `kraft recover inspect` out, command after command as printed, up to the start of the nodes.

Must not know: what the plan should be.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path

import msgspec
import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from quorum.cli.main import run
from tests.support.misuses import NO_WAIT

_START = re.compile(r"(?:Then s|S)tart controllers? ([\d, ]+)")
_READS = ("inspect", "verify", "undo", "rebuild-indexes")
"""Sub-commands without --timeout."""


class CarriedOut(msgspec.Struct, frozen=True, kw_only=True):
    """The commands that ran, by the first words of each, and the directories that the plan starts."""

    ran: tuple[str, ...]
    started: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the inspection's JSON that these tests read."""

    situation: str
    steps: list[Step]
    copies: list[CopyRow]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step: its sentence, and its commands as they are printed."""

    text: str
    commands: list[str]


class CopyRow(msgspec.Struct, frozen=True, kw_only=True):
    """A copy: its path, node and role."""

    path: str
    node_id: int | None
    role: str
    end_offset: int
    fault: str | None


def inspect_plan(capsys: pytest.CaptureFixture[str], paths: Sequence[Path | str]) -> Plan:
    """Return the plan for these directories."""
    capsys.readouterr()
    run(["recover", "inspect", *map(str, paths), "-o", "json"])
    return msgspec.convert(json.loads(capsys.readouterr().out), Plan)


def carry_out(capsys: pytest.CaptureFixture[str], root: Path, paths: Sequence[Path | str]) -> CarriedOut:
    """Run the plan's commands in their order; an inspection among them brings the next plan, at most four times.

    A command that fails fails the test. So do a problem of `verify` and an error of `check` in what starts.
    """
    ran: list[str] = []
    for _ in range(4):
        plan = inspect_plan(capsys, paths)
        started, more = _carry_out(capsys, root, plan, ran)
        if started:
            _run(capsys, ["recover", "verify", *started])
            found = check_paths([Path(path) for path in started]).findings
            assert not [one for one in found if one.severity is Severity.ERROR]
            return CarriedOut(ran=tuple(ran), started=tuple(started))
        assert more, plan
        paths = more
    raise AssertionError(f"the plans do not end: {ran}")


def change_addresses(capsys: pytest.CaptureFixture[str], root: Path, plan: Plan) -> list[str]:
    """Run the plan's command for new addresses on copies of all directories below `root`; return its words."""
    (line,) = (line for step in plan.steps for line in step.commands if line.startswith("kraft recover voters "))
    side = root.with_name(f"{root.name}.moved")
    shutil.copytree(root, side)
    words = shlex.split(_filled(line, root).replace(str(root), str(side)))[1:]
    _run(capsys, [*words, *NO_WAIT])
    _run(capsys, [*words, *NO_WAIT, "--apply"])
    _run(capsys, ["recover", "verify", *_after(words, "--dir")])
    return words


def _carry_out(
    capsys: pytest.CaptureFixture[str], root: Path, plan: Plan, ran: list[str]
) -> tuple[list[str], list[str]]:
    """Run one plan. Return the directories that it starts, or those that it inspects again."""
    for step in plan.steps:
        for line in step.commands:
            words = shlex.split(_filled(line, root))
            ran.append(" ".join(words[:1] if words[0] != "kraft" else words[1:3]))
            if words[0] == "mv":
                subprocess.run(words, check=True)
            elif words[:3] == ["kraft", "recover", "inspect"]:
                return [], words[3:]
            elif words[:2] == ["kraft", "recover"]:
                _run(capsys, [*words[1:], *(() if words[2] in _READS else NO_WAIT)])
                if words[2] in ("standalone", "static-voters", "from-broker") and "--apply" in words:
                    return _after(words, "--dir"), []
        found = _START.match(step.text)
        if found is not None:
            nodes = {int(node) for node in found[1].split(",") if node.strip()}
            return [copy.path for copy in plan.copies if copy.node_id in nodes and copy.role == "voter"], []
    return [], []


def _run(capsys: pytest.CaptureFixture[str], words: Sequence[str]) -> None:
    capsys.readouterr()
    status = run(list(words))
    said = capsys.readouterr()
    assert status == 0, (list(words), said.out + said.err)


def _after(words: Sequence[str], option: str) -> list[str]:
    return [value for name, value in pairwise(words) if name == option]


def _filled(line: str, root: Path) -> str:
    """Return the line with ports and a directory for what the operator fills in."""
    ports = count(1)
    line = re.sub(r"HOST:(GRPC-)?PORT", lambda _: f"localhost:{next(ports)}", line)
    line = re.sub("GRPC-PORT", lambda _: f"{next(ports)}", line)
    return line.replace("NEW_DATA_DIR", f"{root}/new")
