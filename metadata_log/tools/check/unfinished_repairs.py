"""Finds log directories in which `kraft recover` was interrupted.

Decides: the repair must be finished before any other advice applies there. Must not know: the steps of a repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from metadata_log.directory.repair_files import unfinished_repair
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.findings.finding import Finding, finding, with_advice
from metadata_log.tools.findings.remedy import Advice, no_start
from metadata_log.tools.read.sources import NodeSource

KIND: Final = "repair_unfinished"


def check_repairs(nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    """Yield a finding for each log directory with an unfinished repair."""
    for node in nodes:
        for disk in node.log_directories:
            path = unfinished_repair(OsFiles(), str(disk.path))
            if path is not None:
                what = f"a repair of {disk.path} was interrupted: its files are partly the old ones, partly the new"
                yield finding(KIND, what, node_id=node.node_id, file=path, advice=_advice(str(disk.path)))


def repairs_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, with the advice to finish the repair first for all others in a directory under repair."""
    each = list(findings)
    repairs = {one.file.rpartition("/")[0]: one for one in each if one.kind == KIND and one.file is not None}
    return [_after(one, repairs) for one in each] if repairs else each


def _after(one: Finding, repairs: dict[str, Finding]) -> Finding:
    if one.kind == KIND or not one.counts or one.file is None:
        return one
    above = next((path for path in repairs if f"{one.file}/".startswith(f"{path}/")), None)
    return one if above is None else with_advice(one, Advice("nothing before the repair is finished or undone"))


def _advice(log_dir: str) -> Advice:
    return no_start(
        "do not start the node, and change nothing there by hand, not even meta.properties. ",
        ("kraft", "recover", "inspect", log_dir),
        " names the command that finishes the repair, and the one that takes it back (kraft recover undo)",
    )
