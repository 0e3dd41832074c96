"""Bugs planted in the core, one changed line each, and a copy of the sources that holds one of them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """One planted bug: `was` occurs in `file` exactly once and is replaced by `becomes`.

    A scenario of a seed from `first` to `seeds` must notice it.
    """

    name: str
    file: str
    was: str
    becomes: str
    seeds: int
    first: int = 0


MUTANTS = (
    Mutant(
        "a vote leaves before it is durable",
        "outbox.py",
        "        gate = self._gate\n",
        "        gate: int | None = None\n",
        2000,
        first=200,
    ),
    Mutant(
        "a restarted voter forgets its vote",
        "core.py",
        "voted=_vote_in(persisted, me))\n",
        "voted=None)\n",
        4000,
        first=100,
    ),
    Mutant(
        "the leader counts what it has not flushed",
        "replication.py",
        "        own.log_end_offset = core.log.flushed_offset\n        maybe",
        "        own.log_end_offset = core.log.end_offset\n        maybe",
        400,
    ),
    Mutant(
        "a follower fetches before it has flushed",
        "fetching.py",
        "    if not log.is_flushed:\n",
        "    if not log:\n",
        400,
    ),
    Mutant(
        "a diverging log counts as a prefix",
        "log_state.py",
        "        return None if end.epoch == epoch and offset <= end.offset else Diverging(end=end)\n",
        "        return None if offset <= self.end_offset else Diverging(end=end)\n",
        400,
    ),
    Mutant(
        "a vote for a log that is behind",
        "elections.py",
        "    is_up_to_date = candidate_end.is_at_least(core.log.end)\n",
        "    is_up_to_date = candidate_end.offset >= 0\n",
        2000,
    ),
    Mutant(
        "one replica is a majority",
        "replication.py",
        "    committed = offsets[len(offsets) - core.members.majority]\n",
        "    committed = offsets[-1]\n",
        400,
    ),
    Mutant(
        "two votes in an epoch",
        "elections.py",
        "        return _is_same(core.standing.voted, candidate) and core.role is not Role.FOLLOWER\n",
        "        return core.role is not Role.FOLLOWER\n",
        400,
    ),
    Mutant(
        "a follower truncates too little",
        "log_state.py",
        "        return min(own.offset, leader_end.offset) if own.epoch == leader_end.epoch else own.offset\n",
        "        return max(own.offset, leader_end.offset)\n",
        2000,
    ),
    Mutant(
        "a minority elects",
        "states.py",
        "        return len(self.granted) >= self.majority\n",
        "        return len(self.granted) >= self.majority - 1\n",
        400,
    ),
    Mutant(
        "a lost vote is not requested again",
        "elections.py",
        "    is_due = state.retry_at_ms is not None and",
        "    is_due = False and",
        50,
    ),
)


VOTER_MUTANTS = (
    Mutant(
        "two changes of the voters at once",
        "voter_changes.py",
        "    expire_change(core, leader)\n    if leader.change is not None:\n",
        "    expire_change(core, leader)\n    if leader.change is not None and core.log.end_offset < 0:\n",
        300,
    ),
    Mutant(
        "the voters are changed while the latest are not committed",
        "voter_changes.py",
        "    if members.history.latest_offset >= high_watermark:\n",
        "    if members.history.latest_offset > core.log.end_offset:\n",
        200,
    ),
    Mutant(
        "the voters are changed before the epoch has a committed record",
        "voter_changes.py",
        "    if not leader.has_committed:\n",
        "    if leader.epoch_start_offset < 0:\n",
        200,
    ),
    Mutant(
        "the majority is taken from the committed voters alone",
        "membership.py",
        "        self.latest: VoterSet = history.latest\n",
        "        self.latest: VoterSet = history.before_latest if len(history.before_latest) else history.latest\n",
        100,
    ),
    Mutant(
        "a truncated voter set is kept",
        "follower.py",
        "core.members.take(core.members.history.truncate_to(target))",
        "core.members.take(core.members.history)",
        400,
        first=28,
    ),
    Mutant(
        "a removed leader counts itself",
        "replication.py",
        "    offsets = sorted(progress.log_end_offset for progress in leader.voters.values())\n",
        "    offsets = [progress.log_end_offset for progress in leader.voters.values()]\n"
        "    offsets = sorted(offsets if core.members.is_voter else [*offsets, core.log.flushed_offset])\n",
        200,
    ),
    Mutant(
        "a directory that is gone is counted by its node id",
        "leader_fetch.py",
        "    is_voter = progress is not None and core.members.latest.is_voter(key)\n",
        "    is_voter = progress is not None\n",
        400,
        first=10,
    ),
    Mutant(
        "a removed leader leads on",
        "voter_changes.py",
        "    if not core.members.is_voter and core.members.history.latest_offset < committed:\n",
        "    if core.members.is_voter and core.members.history.latest_offset < 0:\n",
        100,
    ),
    Mutant(
        "a change is answered before it is committed",
        "voter_changes.py",
        "NOTHING_APPENDED < change.offset < committed",
        "NOTHING_APPENDED < change.offset",
        100,
    ),
)
"""The bugs that scenarios with changing voters must notice (`run_voter_scenario`)."""


def plant(mutant: Mutant, directory: Path) -> None:
    """Lay out the sources in `directory`, with the bug in them.

    Raises:
        AssertionError: no source has the mutant's file name, or the line is not in it exactly once.
    """
    for entry in ROOT.iterdir():
        if entry.name in ("metadata_log", "tests"):
            (directory / entry.name).symlink_to(entry)
    quorum = directory / "quorum"
    quorum.mkdir()
    for entry in (ROOT / "quorum").iterdir():
        if entry.name != "raft":
            (quorum / entry.name).symlink_to(entry)
    raft = quorum / "raft"
    raft.mkdir()
    sources = sorted((ROOT / "quorum" / "raft").glob("*.py"))
    if mutant.file not in {source.name for source in sources}:
        raise AssertionError(f"{mutant.name}: quorum/raft has no {mutant.file}")
    for source in sources:
        text = source.read_text()
        if source.name == mutant.file:
            found = text.count(mutant.was)
            if found != 1:
                raise AssertionError(f"{mutant.name}: the line stands {found} times in {mutant.file}, not once")
            text = text.replace(mutant.was, mutant.becomes)
        (raft / source.name).write_text(text)


def run_scenarios(
    directory: Path, seeds: range, module: str = "tests.support.raft_random_scenarios"
) -> tuple[bool, str]:
    """Return True if a scenario of these seeds fails in these sources, and the message of the first failure."""
    done = subprocess.run(
        [sys.executable, "-m", module, str(seeds.start), str(len(seeds))],
        cwd=directory,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.startswith("seed"), (done.stdout.splitlines() or [done.stderr])[0]


if __name__ == "__main__":
    import tempfile

    for module, mutants in (
        ("tests.support.raft_random_scenarios", MUTANTS),
        ("tests.support.voter_random_scenarios", VOTER_MUTANTS),
    ):
        for planted in mutants:
            with tempfile.TemporaryDirectory() as place:
                plant(planted, Path(place))
                print(
                    planted.name,
                    "->",
                    *run_scenarios(Path(place), range(planted.first, planted.seeds), module),
                    flush=True,
                )
