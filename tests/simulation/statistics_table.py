"""The table of what faults came to in the first scenarios, in docs/simulation.md.

`python -m tests.simulation.statistics_table` runs these scenarios and rewrites the table.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.simulation.campaign import Tally, report, run_seeds
from tests.simulation.mutant_table import DOCUMENT

STORIES: Final = 150
_BEGIN: Final = "<!-- statistics: written by `statistics_table` -->\n"
_END: Final = "<!-- end of statistics -->\n"
_HEAD: Final = ("| fault | done by | done | what came of it |", "|---|---|---|---|")


class Line(NamedTuple):
    """A line of the table; `faults` are names of `fault_names`, `effects` those of `happened.EFFECTS` with a word for
    each."""

    title: str
    by: str
    faults: tuple[str, ...]
    effects: Mapping[str, str]


LINES: Final = (
    Line(
        "crash and restart between two effects",
        "`_dead_at_effect`, `Node.burn`",
        ("dead at an effect",),
        {"a process dies between two effects": "died between two effects"},
    ),
    Line(
        "crash within a call of the files",
        "`_dead_in_file_call`, `_dead_in_snapshot`",
        ("dead in a file call", "dead in a snapshot"),
        {"a process dies within a call of its files": "died within one"},
    ),
    Line(
        "kill, power cut, storm, blink, clean stop",
        "`faults.py`",
        ("kill", "kill leader", "power cut", "power cut leader", "storm", "blink", "clean stop"),
        {
            "a process is killed": "killed",
            "a machine loses its power": "without power",
            "a process stops cleanly": "stopped",
        },
    ),
    Line(
        "messages lost, twice, late, reordered",
        "`_flaky`, `_slow_network`, each link's manners",
        ("flaky", "slow network"),
        {
            "a message is dropped": "lost",
            "a message comes twice": "twice",
            "a message overtakes another": "overtaken",
        },
    ),
    Line(
        "partitions: of one, one way, split, bridge, rejected",
        "`_cut_off`, `_one_way`, `_split`, `_bridge`, `Plan.part`",
        ("cut off", "one way", "split", "bridge"),
        {"a message is cut off": "messages cut off", "a connection is refused": "connections refused"},
    ),
    Line(
        "slow and stalled disks",
        "`_slow_disk`, `_stalled_disk`, `slow_leaders_disk`",
        ("slow disk", "stalled disk", "slow leader's disk"),
        {"a sync takes more than 100 ms": "syncs over 100 ms"},
    ),
    Line(
        "fsync or another call fails; full disk",
        "`_failing_sync`, `_failing_call`, `_full_disk`",
        ("failing sync", "failing call", "full disk"),
        {"a sync or another call fails": "failed", "a disk is full": "full"},
    ),
    Line(
        "unflushed data lost, torn last write",
        "`SimulatedFiles.crash`, with each power cut",
        (),
        {"unsynced bytes are lost": "lost", "a write is torn": "torn"},
    ),
    Line(
        "corruption of committed bytes",
        "`_bit_rot`, `_snapshot_rot`, `rot_ahead`",
        ("bit rot", "snapshot rot", "rot ahead"),
        {
            "corruption is refused at the start": "refused at the start",
            "corruption is refused by a reader": "by a reader",
            "a corrupt snapshot is not sent": "a checkpoint before it was served",
        },
    ),
    Line(
        "clocks that drift, leap, are set",
        "`_clock_rate`, `_clock_leap`, `_wall_clock_set`",
        ("clock rate", "clock leap", "wall clock set"),
        {
            "a clock runs at another rate": "another rate",
            "a clock leaps": "leaps",
            "a wall clock is set": "set",
        },
    ),
    Line(
        "a frozen process wakes up, long pauses",
        "`_freeze`",
        ("freeze",),
        {"a process wakes up after more than a second": "after more than a second"},
    ),
    Line(
        "voter changes at the worst moment",
        "`operators.py`, `faults_voters.py`",
        ("add voter", "remove voter", "remove leader", "two changes", "early change", "change unheard"),
        {"the voters change": "the voters changed"},
    ),
    Line(
        "static voters move into the log at the worst moment",
        "`operators.py`, `faults_upgrade.py`",
        ("upgrade", "upgrade twice", "upgrade unheard"),
        {"kraft.version is raised": "acknowledged"},
    ),
    Line(
        "another quorum with the same cluster id",
        "`another_quorum`, `Impostor`",
        ("another quorum",),
        {"another quorum answers": "answered", "an agent holds": "held"},
    ),
    Line(
        "snapshots and trims",
        "`_snapshot`, `_left_behind`",
        ("snapshot", "left behind"),
        {"a snapshot is taken": "taken", "a snapshot is installed": "installed"},
    ),
    Line(
        "handovers, deposed and rival leaders",
        "`faults_leader.py`, `faults_rivals.py`",
        ("hand over", "depose", "late proof", "rival leaders", "old tail"),
        {
            "leadership is handed over": "handed over",
            "an epoch has a leader": "epochs with a leader",
            "a log is cut": "logs cut",
        },
    ),
    Line(
        "a disk replaced",
        "`replace_disk`, `replaced_and_counted`",
        ("replace disk", "replaced and counted"),
        {"a disk is replaced": "replaced"},
    ),
)


def block(tally: Tally) -> str:
    """Return the new block of the document for these scenarios."""
    happened = tally.happened
    rows = (
        f"| {line.title} | {line.by} | {sum(happened.get(f'fault: {fault}', 0) for fault in line.faults) or ''} | "
        f"{', '.join(f'{word} {happened.get(effect, 0)}' for effect, word in line.effects.items())} |"
        for line in LINES
    )
    return "\n".join(
        (
            f"In the first {tally.seeds} scenarios, all of them clean: {tally.events:,} events, "
            f"{tally.virtual_ms // 1000:,} s of virtual time (many faults",
            "meet no process: the machine is down already, there is no leader, or peace comes first):",
            "",
            *_HEAD,
            *rows,
            "",
        )
    )


def written() -> str:
    """Return the present block of the document."""
    return DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)[2].partition(_END)[0]


def main() -> int:
    """See the module."""
    tally = run_seeds(range(STORIES))
    if tally.failed is not None:
        print(report(tally.failed))
        return 1
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)
    DOCUMENT.write_text(f"{head}{_BEGIN}{block(tally)}{_END}{rest.partition(_END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
