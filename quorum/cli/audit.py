"""`kraft storage audit`: classify a broker's partition directories, and move away those that do not belong there."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from metadata_log.counts import counted
from quorum.cli.errors import FAILED, CliError, say, wrong_use
from quorum.cli.findings_output import FindingFormat, FindingOutput
from quorum.cli.node_file import NodeFiles, directories_of
from quorum.cli.output import print_table, show_json, show_json_line
from quorum.cli.tables import print_wrapped

if TYPE_CHECKING:
    from metadata_log.tools.partitions.audit import Audit, Audited
    from metadata_log.tools.partitions.quarantine import Move

EPILOG: Final = (
    "Examples:  kraft storage audit /var/lib/kafka/data    kraft storage audit DATA1 DATA2 --image /var/lib/controller"
    "    kraft storage audit --config server.properties"
    "    kraft storage audit DATA --image CONTROLLER --quarantine    kraft storage audit DATA --undo"
)
_COLUMNS: Final = ("directory", "verdict", "topic_id", "when_kafka_starts", "why")


def run(
    log_dirs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR...]", help="Log directories of one broker, all of log.dirs, or its node."),
    ] = None,
    config: NodeFiles = None,
    image: Annotated[
        list[Path] | None,
        typer.Option(
            "--image",
            help="A node whose metadata is newer than the broker's own copy, a controller's best; may be repeated.",
        ),
    ] = None,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Move what does not belong; the broker must be stopped.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option("--to", help="With --quarantine: move there, out of log.dirs, on the same disk.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Move back what --quarantine moved, and audit nothing.")] = False,
    problems: Annotated[
        bool, typer.Option("--problems", help="Leave out what is kept: show only the directories that are not.")
    ] = False,
    output: FindingOutput = FindingFormat.TABLE,
) -> None:
    """Say of each directory in a broker's log directories: keep, stale, wrong id, missing metadata, unknown; and why.

    What does not belong comes first, what is kept last. Judged by the broker's own copy of the metadata log, which is
    as old as its last fetch, or by --image if newer.
    Reads only, without --quarantine and --undo. These rename or move, never delete, and keep a journal in each log
    directory. Exit status 1: a directory does not belong and was not moved, or cannot be judged.
    """
    if (undo and (quarantine or image or problems)) or (to is not None and not quarantine):
        raise wrong_use("give --undo alone, and --to only with --quarantine")
    directories = directories_of(log_dirs, config, "DIR...")
    if undo:
        _undo(directories, output)
        return
    _audit(directories, image or [], output, to=to, quarantine=quarantine, problems=problems)


def _audit(
    log_dirs: list[Path], image: list[Path], output: FindingFormat, *, to: Path | None, quarantine: bool, problems: bool
) -> None:
    from metadata_log.tools.partitions.audit import audit  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.read.sources import SourceError  # noqa: PLC0415

    try:
        found = audit(log_dirs, image)
    except SourceError as error:
        raise wrong_use(str(error)) from error
    wrong = [audited for audited in found.directories if audited.is_wrong]
    if quarantine and found.doubts:
        raise CliError(f"nothing is moved: {'; '.join(found.doubts)}")
    if quarantine and found.newer is not None:
        raise CliError(
            f"nothing is moved: the log that judges was {found.newer}. Use a version of this software that knows that "
            "release"
        )
    moves = _quarantine(wrong, to) if quarantine else []
    _show(found, moves, output, problems=problems)
    unjudged = found.doubts or not all(audited.is_judged for audited in found.directories)
    if unjudged or (wrong and not quarantine):
        raise typer.Exit(FAILED)


def _quarantine(wrong: Sequence[Audited], to: Path | None) -> list[Move]:
    from metadata_log.tools.partitions.quarantine import quarantine  # noqa: PLC0415

    return quarantine(wrong, unique=[secrets.token_hex(16) for _ in wrong], now_ms=time.time_ns() // 1_000_000, to=to)


def _undo(log_dirs: Sequence[Path], output: FindingFormat) -> None:
    from metadata_log.tools.partitions.quarantine import undo  # noqa: PLC0415
    from metadata_log.tools.read.sources import find_sources  # noqa: PLC0415

    disks = [disk.path for node in find_sources(log_dirs).nodes for disk in node.log_directories]
    undone = undo(disks, now_ms=time.time_ns() // 1_000_000)
    rows: list[dict[str, object]] = [{"directory": move.source, "moved_back_from": move.target} for move in undone]
    if output is FindingFormat.TABLE:
        if rows:
            print_table(("directory", "moved_back_from"), rows)
        print(f"Moved back: {len(rows)}.")
        return
    _show_rows(rows, output)


def _show(found: Audit, moves: Sequence[Move], output: FindingFormat, *, problems: bool) -> None:
    targets = {move.source: move.target for move in moves}
    ranked = sorted(found.directories, key=_rank)
    rows = [_row(audited, targets) for audited in ranked if not (problems and audited.is_kept)]
    for warning in (*found.doubts, *found.notes):
        say(f"kraft: {warning}")
    if found.newer is not None:
        say(f"kraft: {found.image_from}: {found.newer}")
    if output is not FindingFormat.TABLE:
        _show_rows(rows, output)
        return
    if found.is_controller:
        print(f"Node {found.broker_id} is a controller and no broker: no directory is judged.")
        return
    if rows:
        print_table((*_COLUMNS, "moved_to") if moves else _COLUMNS, rows)
        print()
    wrong = sum(audited.is_wrong for audited in found.directories)
    print_wrapped(
        f"Broker {found.broker_id}: {counted(len(ranked), 'directory')}, "
        f"{wrong} of which {'does' if wrong == 1 else 'do'} not belong"
        f"{f', {len(moves)} moved' if moves else ''}. Judged by {found.image_from}, up to offset {found.image_end} of "
        f"epoch {found.image_epoch}{_doubt(found)}."
    )
    for line in _others(found):
        print_wrapped(line)
    staged = sum(audited.is_agents for audited in found.directories)
    if staged:
        are, them = ("is", "it") if staged == 1 else ("are", "them")
        print_wrapped(
            f"{staged} under deleting/ {are} our agent's, which removes {them} itself; Apache Kafka would "
            f"refuse to start beside {them}."
        )
    if wrong and not moves and not found.doubts and found.newer is None:
        print("Move them with --quarantine once the broker is stopped; --undo moves them back.")


def _rank(audited: Audited) -> tuple[bool, bool, bool]:
    """Return a sort key: wrong directories first, then unjudged ones, those set aside by name, and kept ones."""
    return not audited.is_wrong, audited.is_judged, audited.is_kept


def _others(found: Audit) -> Iterator[str]:
    """Yield a line each for unjudged, stray and deleted directories: they are neither kept nor counted as wrong."""
    unjudged = sum(not audited.is_judged for audited in found.directories)
    stray = sum(audited.facts.is_stray for audited in found.directories)
    deleted = sum(audited.facts.is_deleted for audited in found.directories)
    if unjudged:
        are = "is" if unjudged == 1 else "are"
        yield f"{unjudged} cannot be judged by this image, and {are} not moved: name a newer or sound one with --image."
    if stray:
        was, takes = ("was", "it takes") if stray == 1 else ("were", "they take")
        yield f"{stray} {was} set aside before (-stray): {takes} space; --undo moves back what is in a journal."
    if deleted:
        them = "it" if deleted == 1 else "them"
        yield f"{deleted} a broker marked for deletion (-delete): it deletes {them} when it runs."


def _doubt(found: Audit) -> str:
    if found.certain_end >= found.image_end:
        return ""
    more = "--image with a majority's directories says more"
    return f" (from offset {found.certain_end} on it may not be committed: {more})"


def _row(audited: Audited, targets: dict[str, str]) -> dict[str, object]:
    from metadata_log.ids import id_text  # noqa: PLC0415

    topic_id = audited.facts.topic_id
    return {
        "directory": str(audited.path),
        "verdict": audited.verdict.kind.value,
        "topic": audited.facts.topic_name,
        "partition": audited.facts.partition,
        "topic_id": None if topic_id is None else id_text(topic_id),
        "when_kafka_starts": audited.when_kafka_starts.value,
        "why": audited.verdict.why,
        "moved_to": targets.get(str(audited.path.absolute())),
    }


def _show_rows(rows: Sequence[dict[str, object]], output: FindingFormat) -> None:
    if output is FindingFormat.JSON:
        show_json({"directories": list(rows)})
        return
    for row in rows:
        show_json_line(row)
