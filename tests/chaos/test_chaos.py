"""Three minutes (`LONG=1`: an hour) of real faults on real processes, then a check of history and disks.

`CHAOS_SEED=n` repeats the random draws; times and the kernel's own choices vary.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.chaos import enter, proof
from tests.chaos.campaign import Summary
from tests.chaos.faults import ACTS, NETWORK
from tests.chaos.history import CREATE, EXISTS, OK, READ, UNKNOWN, Operation
from tests.chaos.proof import Remains, remains
from tests.support.fresh_seed import fresh_seed

_MINUTES = 60.0 if os.environ.get("LONG") else 3.0
_PATIENCE_S = 240

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(_MINUTES * 60 + 2 * _PATIENCE_S)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a campaign in which every invariant held. If this machine cannot make real faults, fail with the reason."""
    root = tmp_path_factory.mktemp("chaos")
    words = ["--minutes", str(_MINUTES), "--seed", str(fresh_seed("CHAOS_SEED")), "--directory", str(root)]
    done = subprocess.run(
        enter.command(["-m", "tests.chaos", *words]), env=enter.environment(),
        capture_output=True, text=True, check=False, timeout=_MINUTES * 60 + _PATIENCE_S,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout[-6000:]}{done.stderr[-3000:]}"
    return root


@pytest.fixture(scope="module")
def left(root: Path) -> Remains:
    return remains(root, msgspec.json.decode((root / "summary.json").read_bytes(), type=Summary))


def test_the_run_was_what_it_says(root: Path, left: Remains) -> None:
    rounds = left.summary.rounds
    assert {each.network for each in rounds} == set(NETWORK)
    assert {each.act for each in rounds} == set(ACTS)
    packets = left.summary.packets
    assert packets["cut"] > 0
    assert packets["lost"] + packets["doubled"] > 0
    written = {path.name for path in (root / "kept").glob("*/*/*.checkpoint")}
    assert len(written) > 1, "no checkpoint but the one of the first start"
    kinds = {(each.kind, each.outcome) for each in left.operations}
    assert {(CREATE, OK), (CREATE, EXISTS), (CREATE, UNKNOWN), (READ, OK)} <= kinds
    longest = max(rounds, key=lambda each: each.answered_s)
    print(f"{len(rounds)} rounds, {left.summary.writes} acknowledged writes; after {longest.network}, {longest.act}")
    print(f"nothing was acknowledged for {longest.answered_s:.1f} s, the longest time")


# The fixture has shown that all invariants hold; these tests show that a violation would be seen.


def _with(left: Remains, operation: Operation) -> Remains:
    return msgspec.structs.replace(left, operations=[*left.operations, operation])


def _one(left: Remains, kind: str) -> Operation:
    return next(each for each in left.operations if each.kind == kind and each.outcome == OK)


def test_a_lost_write_would_be_seen(left: Remains) -> None:
    lost = msgspec.structs.replace(_one(left, CREATE), topic_id="0123456789abcdefABCDEF")
    assert len(list(proof.acknowledged(_with(left, lost)))) >= len(left.histories)


def test_a_write_that_nobody_asked_for_would_be_seen(left: Remains) -> None:
    unasked = msgspec.structs.replace(
        left, operations=[each for each in left.operations if each.kind != CREATE]
    )  # fmt: skip
    assert list(proof.nothing_else(unasked))


def test_a_wrong_answer_would_be_seen(left: Remains) -> None:
    stale = msgspec.structs.replace(_one(left, READ), offset=0)
    assert list(proof.answers(_with(left, stale)))


def test_two_leaders_of_an_epoch_would_be_seen(left: Remains) -> None:
    epoch, node = left.led[0]
    assert list(proof.one_leader_an_epoch(msgspec.structs.replace(left, led=[*left.led, (epoch, node % 3 + 1)])))
    assert list(proof.one_leader_an_epoch(msgspec.structs.replace(left, led=[*left.led, (epoch, node)])))


def test_a_log_that_differs_would_be_seen(left: Remains) -> None:
    node, history = next(iter(left.histories.items()))
    data = bytearray(history.data)
    data[history.ends[min(history.ends)] + 70] ^= 1
    differs = msgspec.structs.replace(left, histories={**left.histories, node: _copy(history, bytes(data))})
    assert list(proof.equal_logs(differs))


def _copy(history: proof.History, data: bytes) -> proof.History:
    return proof.History(directory=history.directory, data=data, ends=history.ends)
