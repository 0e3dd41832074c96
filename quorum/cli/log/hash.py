"""`kraft log hash`: one line that is equal for equal metadata."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from quorum.cli.errors import FAILED, CliError, say
from quorum.cli.findings_output import check_one_cluster, sources_of
from quorum.cli.log_history import an_earlier_offset_may_help, say_what_is_left_out, say_what_is_lost, what_is_lost
from quorum.cli.output import RowFormat, RowOutput, show_rows

if TYPE_CHECKING:
    from metadata_log.tools.read.history import LogHistory
    from metadata_log.tools.replicas.hashes import HashLine
    from metadata_log.tools.verify.lost_end import LostEnd

EPILOG: Final = (
    "Examples:  kraft log hash /var/lib/kafka/data    kraft log hash node-1 node-2 node-3    "
    "kraft log hash node-1 00000000000000000300-0000000001.checkpoint --at 300"
)
_COLUMNS: Final = ("source", "end_offset", "epoch", "hash")


def run(
    paths: Annotated[
        list[Path], typer.Argument(help="Nodes' directories, metadata directories, segments, checkpoints, exports.")
    ],
    at: Annotated[
        int | None,
        typer.Option("--at", min=0, help="Exclusive end offset; default: the last that every copy reaches."),
    ] = None,
    output: RowOutput = RowFormat.TABLE,
) -> None:
    """Hash the metadata at an offset: equal on all equal replicas, the same from a checkpoint and from the log.

    metadata_log/FORMAT.md says how it is computed. Reads only and takes no lock.
    A copy that is damaged or cannot be read is named, and left out.
    Exit status 0: all are equal. 1: they differ, a copy has no state at that offset, or is damaged. 2: there is no log.
    """
    from metadata_log.tools.replicas.hashes import hash_logs, histories_and_problems  # noqa: PLC0415  (not needed for help)

    check_one_cluster(sources_of(paths).nodes)
    with _told_as_data(paths, output):
        found = [history for _, history in histories_and_problems(paths)[0]]
        ends = [(history, what_is_lost(history)) for history in found if at is None]
        for history in found if at is not None else ():
            say_what_is_left_out(history)
        lost = [say_what_is_lost(history, end) for history, end in ends]
        with an_earlier_offset_may_help():
            lines = hash_logs(paths, at)
    lost += [_say_what_is_hidden(history, end, lines) for history, end in ends]
    show_rows(output, _COLUMNS, [_row(line) for line in lines], name="hashes")
    problems = [line.problem for line in lines if line.problem is not None]
    hashed = [line for line in lines if line.problem is None]
    for text, sources in _not_hashed(hashed).items():
        say(f"kraft: {', '.join(sources)}: {text}")
    if len({line.hash for line in hashed}) > 1 and not all(line.is_comparable for line in hashed):
        problems.append(
            "the hashes differ, which says nothing here: they lack records of a later release. Use the release that "
            "wrote them to compare the metadata, and `kraft log diff` to compare the logs"
        )
    elif len({line.hash for line in hashed}) > 1:
        problems.append(f"the metadata up to offset {hashed[0].end_offset} differs{_difference(hashed)}")
    if problems:
        raise CliError("; ".join(problems))
    if any(lost):
        raise typer.Exit(FAILED)


def _say_what_is_hidden(history: LogHistory, lost: LostEnd, lines: Sequence[HashLine]) -> bool:
    """Report the gap that hides the later states of a log than the hashed one. Return True if there is one."""
    from metadata_log.tools.verify.lost_end import hidden_end  # noqa: PLC0415  (not needed for help)

    ends = [line.end_offset for line in lines if line.path == str(history.path)]
    hidden = None if None in ends else hidden_end(history, max(filter(None, ends), default=0), lost=lost)
    if hidden is not None:
        say(f"kraft: {history.path}: {hidden}")
    return hidden is not None


def _row(line: HashLine) -> dict[str, object]:
    """Return the line as data. It has `not_hashed` only if a later release has written records."""
    row: dict[str, object] = msgspec.to_builtins(line)
    del row["is_comparable"]
    if line.not_hashed is None:
        del row["not_hashed"]
    return row


def _not_hashed(lines: Sequence[HashLine]) -> dict[str, list[str]]:
    """Return each sentence about records of a later release, with the copies that have them."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.not_hashed is not None:
            found.setdefault(line.not_hashed, []).append(line.source)
    return found


@contextlib.contextmanager
def _told_as_data(paths: Sequence[Path], output: RowFormat) -> Iterator[None]:
    """Surround code that fails if the only copy has no hash: programs get a line with the problem, too."""
    from metadata_log.tools.read.history import HistoryError  # noqa: PLC0415
    from metadata_log.tools.replicas.hashes import HashLine  # noqa: PLC0415  (not needed for help)

    try:
        yield
    except (HistoryError, CliError) as error:
        if output is not RowFormat.TABLE:
            path = paths[0]
            line = HashLine(source=path.name, path=str(path), problem=str(error))
            show_rows(output, _COLUMNS, [_row(line)], name="hashes")
        raise


def _difference(lines: Sequence[HashLine]) -> str:
    """Return the end of the sentence: which nodes hold orphaned configs, or which command shows the difference."""
    if len({line.hash_without for line in lines}) > 1:
        return ": `kraft check` says in what, checkpoints and all; `kraft log diff` which records the logs part in"
    holders = [f"{line.source} ({', '.join(map(repr, line.left_behind))})" for line in lines if line.left_behind]
    return (
        f" only in configs of topics that are gone, which Kafka left behind: {'; '.join(holders)}. `kraft check` on "
        "these directories says what to do"
    )
