"""Draws a scenario as text: a line for each moment, a column for each machine.

Must not know: the meaning of the lines.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.scenario import Outcome, run_scenario
from tests.simulation.setup import Setup
from tests.simulation.world import US_PER_MS

_WIDTH: Final = 40
_LAST_LINES: Final = 120


def draw(setup: Setup, *, last: int = _LAST_LINES) -> str:
    """Run the scenario again and draw its last lines."""
    lines: list[tuple[int, int, str]] = []
    outcome = run_scenario(setup, lambda at_us, node_id, line: lines.append((at_us, node_id, line)))
    columns = sorted({node_id for _, node_id, _ in lines if node_id > 0})
    head = "        ms  " + "".join(f"node {node_id}".ljust(_WIDTH) for node_id in columns)
    drawn = [head.rstrip()]
    for at_us, node_id, line in lines[-last:]:
        drawn.append(_row(at_us, node_id, line, columns))
    if len(lines) > last:
        drawn.insert(1, f"            ({len(lines) - last} lines before)")
    return "\n".join([*drawn, _end(outcome)])


def _row(at_us: int, node_id: int, line: str, columns: list[int]) -> str:
    when = f"{at_us / US_PER_MS:10.2f}  "
    if node_id <= 0:
        return f"{when}{'== ' if node_id == 0 else '.. '}{line}"
    indent = columns.index(node_id) * _WIDTH
    return f"{when}{' ' * indent}{line[: 2 * _WIDTH]}"


def _end(outcome: Outcome) -> str:
    return "all held" if outcome.is_clean else f"{outcome.virtual_ms:10}    {outcome.checker}: {outcome.what}"


def summary(setup: Setup) -> str:
    """Return one line about the scenario's setup."""
    faults: dict[str, int] = {}
    for step in setup.steps:
        faults[step.fault] = faults.get(step.fault, 0) + 1
    drawn = ", ".join(f"{count} {name}" for name, count in sorted(faults.items()))
    return (
        f"{setup.voters} voters, {setup.observers} agents, {setup.clients} clients, {setup.duration_ms} ms of faults: "
        f"{drawn or 'none'}"
    )
