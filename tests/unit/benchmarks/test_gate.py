"""The performance gate: its rule, its rounds, its exit status, and its refusals."""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from benchmarks.gate.__main__ import main
from benchmarks.gate.pairs import (
    BASE,
    CONTROL,
    TREE,
    Load,
    LoadOn,
    Opened,
    OutOfTimeError,
    Plan,
    Round,
    loop_ms,
    measure,
    ratios,
)
from benchmarks.gate.rows import ROWS
from benchmarks.gate.show import Results, line, result, show, write
from benchmarks.gate.verdict import Spread, is_failed, spread
from benchmarks.processes import timed

NOISE = (1.0, 1.1, 0.9, 1.3, 0.8, 1.02, 0.97, 1.05, 0.93, 1.2, 0.85, 1.01)
"""The speed of a machine, round by round."""


def _plan(pairs: int = 12, rounds_each: int = 12) -> Plan:
    return Plan(pairs=pairs, rounds_each=rounds_each, deadline=time.monotonic() + 60)


def _opened(load: LoadOn) -> Opened:
    return lambda done: contextlib.nullcontext(load)


def _machine(speeds: dict[str, float], *, took_s: float = 1.0) -> Opened:
    """Return loads of sides with such speeds, on a machine whose own speed drifts from round to round."""
    turns = itertools.count()

    def load(side: str) -> Load:
        drift = NOISE[next(turns) // len(speeds) % len(NOISE)]
        return Load(judged=1000 * speeds[side] * drift, beside=500 * speeds[side], took_s=took_s)

    return _opened(load)


def _rounds(tree: float, pairs: int = 12) -> list[Round]:
    return measure(_machine({BASE: 1.0, CONTROL: 1.0, TREE: tree}), _plan(pairs), lambda: 50.0)


def _results(**rows: float) -> Results:
    return Results(
        machine="a machine",
        file_system="ext4",
        began="now",
        load_before=0.5,
        records=100,
        packages=[],
        rows={name: result(_rounds(tree), 40.0) for name, tree in rows.items()},
    )


def _spread(lower: float, median: float, upper: float) -> Spread:
    return Spread(lower=lower, median=median, upper=upper)


@pytest.mark.parametrize(
    ("tree", "control", "failed"),
    [
        (_spread(0.99, 1.0, 1.01), _spread(0.99, 1.0, 1.01), False),
        (_spread(0.90, 0.94, 0.99), _spread(0.99, 1.0, 1.01), True),
        (_spread(0.90, 0.95, 0.99), _spread(0.99, 1.0, 1.01), False),  # 0.95 itself is not below
        (_spread(0.90, 0.94, 1.0), _spread(0.99, 1.0, 1.01), False),  # nor is an upper quartile of 1
        (_spread(0.80, 0.94, 1.2), _spread(0.7, 1.0, 1.3), False),  # noise
        (_spread(0.89, 0.90, 0.91), _spread(0.91, 0.92, 0.93), False),  # equal code was as slow
        (_spread(0.97, 0.98, 0.99), _spread(1.04, 1.05, 1.06), True),  # equal code was faster
    ],
)
def test_a_row_fails_by_its_median_and_its_upper_quartile(tree: Spread, control: Spread, failed: bool) -> None:
    assert is_failed(tree, control) is failed


def test_quartiles_lie_within_what_was_measured() -> None:
    assert spread([3.0, 1.0, 2.0]) == _spread(1.5, 2.0, 2.5)
    assert spread([float(value) for value in range(1, 6)]) == _spread(2.0, 3.0, 4.0)


def test_two_ratios_have_no_quartiles() -> None:
    with pytest.raises(ValueError, match="2 ratios are too few: 3 are needed"):
        spread([1.0, 1.0])


def test_equal_code_passes_on_a_machine_that_drifts() -> None:
    found = ratios(_rounds(tree=1.0), lambda load: load.judged)
    assert found.tree == found.control == _spread(1.0, 1.0, 1.0)
    assert not found.failed


@pytest.mark.parametrize(("tree", "failed"), [(0.94, True), (0.96, False), (1.5, False)])
def test_a_planted_slowdown_of_six_percent_fails(tree: float, failed: bool) -> None:
    assert ratios(_rounds(tree), lambda load: load.judged).failed is failed


def test_a_process_that_does_three_times_the_work_fails() -> None:
    def load(side: str) -> Load:
        steps = 3_000_000 if side == TREE else 1_000_000
        cost = timed([sys.executable, "-I", "-S", "-c", f"for _ in range({steps}): pass"])
        return Load(judged=1 / cost.cpu_s, beside=1 / cost.wall_s, took_s=cost.wall_s)

    found = ratios(measure(_opened(load), _plan(3), loop_ms), lambda load: load.judged)
    assert found.failed
    assert found.tree.median < 0.7


def test_each_side_has_each_turn_equally_often() -> None:
    order: list[str] = []

    def load(side: str) -> Load:
        order.append(side)
        return Load(judged=1.0, beside=1.0, took_s=1.0)

    measure(_opened(load), _plan(12), lambda: 50.0)
    for count in (3, 12):
        turns = Counter((side, turn % 3) for turn, side in enumerate(order[: 3 * count]))
        assert set(turns.values()) == {count // 3}
        assert len(turns) == 9
    after = Counter(pair for start in range(0, 36, 3) for pair in itertools.pairwise(order[start : start + 3]))
    assert set(after.values()) == {4}
    assert len(after) == 6


@pytest.mark.parametrize(("took_s", "rounds"), [(19.0, 12), (21.0, 3)])
def test_long_loads_are_compared_three_times(took_s: float, rounds: int) -> None:
    sides = {BASE: 1.0, CONTROL: 1.0, TREE: 1.0}
    assert len(measure(_machine(sides, took_s=took_s), _plan(), lambda: 50.0)) == rounds


def test_a_row_is_prepared_again_after_some_rounds() -> None:
    opened: list[int] = []
    closed: list[int] = []

    @contextlib.contextmanager
    def prepare(done: int) -> Iterator[LoadOn]:
        opened.append(done)
        yield lambda side: Load(judged=1.0, beside=1.0, took_s=1.0)
        closed.append(done)

    assert len(measure(prepare, _plan(10, rounds_each=4), lambda: 50.0)) == 10
    assert opened == closed == [0, 4, 8]


def test_no_round_begins_after_the_deadline() -> None:
    plan = Plan(pairs=12, deadline=time.monotonic() - 1)
    with pytest.raises(OutOfTimeError, match="after 0 of 12 rounds"):
        measure(_machine({BASE: 1.0, CONTROL: 1.0, TREE: 1.0}), plan, lambda: 50.0)


def test_the_exit_status_says_what_became_of_the_rows() -> None:
    assert _results(help=1.0, dump=1.2).status == 0
    failed = _results(help=1.0, dump=0.8)
    assert (failed.failed, failed.status) == (["dump"], 1)
    absent = _results(help=1.0)
    absent.missing["check"] = "it ended with 1"
    assert absent.status == 2


def test_a_row_is_shown_with_its_verdict() -> None:
    results = _results(help=1.0, dump=0.8)
    results.missing["check"] = "it ended with 1"
    out = io.StringIO()
    show(results, dict(ROWS), Console(file=out, width=150))
    rows = {cells[1].strip(): [cell.strip() for cell in cells[2:-1]] for cells in _cells(out.getvalue())}
    assert rows["dump"] == [
        "0.800 [0.800..0.800]", "1.000 [1.000..1.000]", "0.800, 1.000", "1,005", ROWS["dump"].judged, "FAILED",
    ]  # fmt: skip
    assert rows["help"][-1] == "ok"
    assert "check could not be measured: it ended with 1" in out.getvalue()
    assert "FAILED: dump" in out.getvalue()


def _cells(shown: str) -> list[list[str]]:
    return [text.split("│") for text in shown.splitlines() if text.startswith("│")]


def test_the_line_of_a_row_has_both_measures_and_the_loop() -> None:
    assert line("dump", _results(dump=0.8).rows["dump"], ROWS["dump"]) == (
        "dump: FAILED: runs/s of processor: tree 0.800 [0.800..0.800], control 1.000 [1.000..1.000]; "
        "runs/s: tree 0.800 [0.800..0.800], control 1.000 [1.000..1.000]; "
        "12 rounds, 40 s, loop 50 ms [50..50]"
    )


def test_a_row_that_is_slower_by_the_other_measure_alone_passes_with_a_remark() -> None:
    rounds = [
        Round(
            loads={
                side: Load(judged=1.0, beside=0.5 if side == TREE else 1.0, took_s=1.0)
                for side in (BASE, TREE, CONTROL)
            },
            loop_ms={},
        )
    ] * 3
    assert result(rounds, 1.0).verdict == "ok, slower beside"


def test_all_rounds_are_written(tmp_path: Path) -> None:
    results = _results(help=0.8)
    write(tmp_path / "made" / "gate.json", results)
    assert msgspec.json.decode((tmp_path / "made" / "gate.json").read_bytes(), type=Results) == results


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rows", "help,colours"], "--rows: unknown colours; there are creates-1, "),
        (["--pairs", "2"], "--pairs must be at least 3"),
    ],
)
def test_misuse_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert said in capsys.readouterr().err
