"""`kraft log dump`: the records of files, in the form and of the part that the options name."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from metadata_log.errors import CorruptBatchError
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.dump.course import REMOVED, Course
from metadata_log.tools.dump.lines import Style
from quorum.cli.errors import FAILED, CliError, say, wrong_use
from quorum.cli.log.dump_options import (
    As,
    Broker,
    Epochs,
    Follow,
    Form,
    From,
    Paths,
    Since,
    To,
    Topics,
    Types,
    Until,
    selection_of,
)
from quorum.cli.log.dump_output import (
    DumpFormat,
    Renderer,
    Writer,
    named,
    require_log,
    say_gaps,
    show_files,
    write_past_trouble,
)
from quorum.cli.log.files import check_one_cluster_of, files_of, metadata_logs, say_missing_segments
from quorum.cli.option_values import Redact, reading_files

if TYPE_CHECKING:
    from metadata_log.tools.dump.pieces import Piece
    from metadata_log.tools.dump.selection import Selection

EPILOG: Final = (
    "Examples:  kraft log dump /var/lib/kraft | less    kraft log dump DIR -o jsonl | jq .type    "
    "kraft log dump DIR --topic orders --from 5000    kraft log dump DIR --type leader_change -o table    "
    "kraft log dump DIR --follow -o jsonl"
)
_POLL_S: Final = 0.2
_BINARY: Final = (DumpFormat.PARQUET, DumpFormat.ARROW)
_FOLLOWED: Final = (DumpFormat.TEXT, DumpFormat.JSONL, DumpFormat.CSV, DumpFormat.TABLE)


def run(
    paths: Paths,
    output: Form = DumpFormat.TEXT,
    style: As = Style.KAFKA_4_3,
    first: From = None,
    end: To = None,
    since: Since = None,
    until: Until = None,
    epoch: Epochs = None,
    kind: Types = None,
    topic: Topics = None,
    broker: Broker = None,
    follow: Follow = False,
    redact: Redact = False,
) -> None:
    """Print every batch and record of metadata logs and checkpoints, Apache Kafka's or ours.

    Reads only and takes no lock: it may be used on the directory of a running node. Damaged bytes are skipped, and
    standard error names them and the missing offsets. A file that the node removes meanwhile is skipped, too. Exit
    status 0: all could be read. 1: a part is damaged or was removed, or the last write is unfinished. 2: there is no
    log.
    """
    files = list(files_of(paths))
    if len(paths) > 1:
        check_one_cluster_of(paths)
    selection = selection_of(files, first, end, since, until, epoch, kind, topic, broker)
    if redact and follow:
        raise wrong_use("--follow and --redact exclude each other")
    port = reading_files(redact=redact)
    if output in _BINARY:
        if follow:
            raise wrong_use(f"--follow has no end, and {output} is written at the end: use -o jsonl")
        _write_table(files, selection, output, port)
        if status := max(say_gaps(list(map(str, files))), say_missing_segments(paths)):
            raise typer.Exit(status)
        return
    renderer = Renderer(output, style, selection, port)
    if follow:
        _follow(paths, renderer)
        return
    if status := max(show_files(list(map(str, files)), renderer), say_missing_segments(paths)):
        raise typer.Exit(status)


def _follow(paths: list[Path], renderer: Renderer) -> None:
    from metadata_log.tools.dump.follow import Added, CutBack, Follower, Opened, Removed  # noqa: PLC0415

    directories = [directory for path in paths for directory in metadata_logs(path)]
    if len(directories) != 1:
        raise wrong_use("--follow takes one directory: a metadata log, or the data directory of a node")
    if renderer.form not in _FOLLOWED:
        raise wrong_use(f"--follow has no end, and {renderer.form} needs one: use -o jsonl")
    follower, writer = Follower(OsFiles(), str(directories[0])), Writer(renderer)
    try:
        while True:
            for event in follower.poll():
                match event:
                    case Opened(path=path):
                        writer.write(renderer.title(path))
                    case Removed(path=path):
                        writer.flush()
                        say(f"kraft: {path}: {REMOVED}")
                    case CutBack(path=path, position=position):
                        say(f"kraft: {path} was cut back, and goes on from byte {position}")
                    case Added(path=path, piece=piece):
                        _write_added(piece, path, renderer, writer)
            writer.flush()
            time.sleep(_POLL_S)
    except CorruptBatchError as error:
        raise CliError(named(error, follower.path)) from error
    finally:
        follower.close()


def _write_added(piece: Piece, path: str, renderer: Renderer, writer: Writer) -> None:
    """Write what was added to the log. After a corrupt batch, go on behind it."""
    shown = renderer.show(piece, path, sealed=True)
    if shown.error is None:
        writer.write(shown.text)
        return
    handle = OsFiles().open(path, read_only=True)
    try:
        course = Course(handle, piece.end)
        course.position = piece.position
        while course.tail is None:
            write_past_trouble(path, course, renderer, writer)
    finally:
        handle.close()


def _write_table(files: list[Path], selection: Selection, form: DumpFormat, port: OsFiles) -> None:
    import sys  # noqa: PLC0415

    from quorum.cli.extras import ANALYSIS, needs  # noqa: PLC0415

    if sys.stdout.isatty():
        raise wrong_use(f"{form} is not for a terminal: redirect it to a file")
    for file in files:
        try:
            handle = OsFiles().open(str(file), read_only=True)
        except FileNotFoundError:
            continue  # removed since, which is said when its turn comes
        try:
            require_log(str(file), Course(handle, handle.size()))
        finally:
            handle.close()
    with needs(ANALYSIS):
        from metadata_log.analysis.dump_tables import write_table  # noqa: PLC0415

        sys.stdout.flush()
        flaws = list(write_table([str(file) for file in files], selection, form.value, sys.stdout.buffer, port))
    for path, flaw in flaws:
        say(f"kraft: {path}: {flaw}")
    if flaws:
        raise typer.Exit(FAILED)
