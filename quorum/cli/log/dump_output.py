"""The output of `kraft log dump`: one renderer for each form, and the writing of chunks.

Decides: the forms. Must not know: where files come from.
"""

from __future__ import annotations

import contextlib
import enum
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from metadata_log.errors import MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.storage.segment import segment_bases, segment_file
from metadata_log.tools.dump.course import REMOVED, Course, Flaw
from metadata_log.tools.dump.dump import Shown, first_offset_of, joined, show_text, tail_lines, title_lines
from metadata_log.tools.dump.lines import Style
from metadata_log.tools.dump.pieces import Piece
from metadata_log.tools.dump.selection import Selection
from metadata_log.tools.dump.turns import WORTH_IT, Rendered, processes, write_in_turns
from quorum.cli.errors import FAILED, CliError, exit_code_of, say, wrong_use
from quorum.cli.log.dump_table import layout

if TYPE_CHECKING:
    from metadata_log.tools.verify.lost_end import LostEnd


class DumpFormat(enum.StrEnum):
    """The values of dump's `-o`."""

    TEXT = "text"
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"


_SEPARATOR: Final = ",\n"
_FILES: Final = OsFiles()
_EVERYTHING: Final = Selection()


class Renderer:
    """Chunks of a file as text in one form."""

    def __init__(
        self,
        form: DumpFormat = DumpFormat.TEXT,
        style: Style = Style.KAFKA_4_3,
        selection: Selection = _EVERYTHING,
        files: OsFiles = _FILES,
    ) -> None:
        self.form = form
        self.files = files
        self._style = style
        self._selection = selection
        self._begin = _version() if form is DumpFormat.JSONL else ""
        self._table = layout()

    def head(self) -> str:
        """Return the text before the first file."""
        if self.form is DumpFormat.CSV:
            from metadata_log.tools.dump.rows import CSV_HEAD  # noqa: PLC0415  (not needed for text)

            return CSV_HEAD
        return f'{{{_version()}"records":[' if self.form is DumpFormat.JSON else ""

    def title(self, path: str) -> str:
        """Return the text before a file's first batch."""
        if self.form is DumpFormat.TEXT:
            return joined(list(title_lines(path)))
        if self.form is DumpFormat.TABLE:
            return f"{path}:\n{self._table[0]}"
        return ""

    def show(self, piece: Piece, path: str, *, sealed: bool = False) -> Shown:
        """Return a chunk of a file as text, with an error if it is corrupt. With `sealed`, a wrong checksum is one."""
        if self.form is DumpFormat.TEXT:
            return show_text(piece, self._style, self._selection, sealed=sealed)
        from metadata_log.tools.dump.rows import show_csv, show_json_lines, show_rows  # noqa: PLC0415

        if self.form is DumpFormat.TABLE:
            return show_rows(piece, self._selection, self._table[1], sealed=sealed)
        if self.form is DumpFormat.CSV:
            return show_csv(piece, path, self._selection, sealed=sealed)
        if self.form is DumpFormat.JSON:
            return show_json_lines(piece, path, self._selection, _SEPARATOR, sealed=sealed)
        return show_json_lines(piece, path, self._selection, begin=self._begin, sealed=sealed)

    def text(self, piece: Piece, path: str, *, sealed: bool = False) -> str:
        """Return a chunk of a file as text.

        Raises:
            MetadataLogError: the chunk is corrupt.
        """
        shown = self.show(piece, path, sealed=sealed)
        if shown.error is not None:
            raise shown.error
        return shown.text

    def tail(self, path: str, size: int) -> str:
        """Return the text after a file's last batch, if `size` further bytes are no batch."""
        return joined(list(tail_lines(path, size))) if self.form is DumpFormat.TEXT else ""


def _version() -> str:
    """Return the field that a command's JSON begins with."""
    from quorum.cli.output import SCHEMA_VERSION  # noqa: PLC0415  (not needed for text)

    return f'"schema_version":{SCHEMA_VERSION},'


def _bytes_of(text: str) -> bytes:
    """Return the bytes of a text. A file name that is not UTF-8 keeps its own bytes."""
    return text.encode("utf-8", "surrogateescape")


class Writer:
    """Standard output. In a JSON array the last comma is held back."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._terminal = sys.stdout if sys.stdout.isatty() else None
        self._out: BinaryIO = sys.stdout.buffer
        self._held = ""
        self._is_begun = False
        self.ends: dict[Path, LostEnd] = {}
        """The lost ends that are known already, by directory."""
        sys.stdout.flush()
        self.write(renderer.head())

    def write(self, text: str) -> None:
        """Write a text of whole rows."""
        if self._renderer.form is DumpFormat.JSON:
            if not text:
                return
            text, self._held = self._held + text.removesuffix(_SEPARATOR), _SEPARATOR if self._is_begun else ""
            self._is_begun = True
        if self._terminal is not None:  # the terminal escapes control characters
            self._terminal.write(text)
        else:
            self._out.write(_bytes_of(text))

    def end(self) -> None:
        """End the output after the last file."""
        self.flush()
        if self._renderer.form is DumpFormat.JSON:
            self._out.write(b"]}\n")
        self._out.flush()

    def flush(self) -> None:
        """Flush, so that the reader of a pipe gets every row so far."""
        if self._terminal is not None:
            self._terminal.flush()
        self._out.flush()

    def descriptor(self) -> int | None:
        """Return the descriptor of standard output, or None if rows cannot be written to it directly.

        A terminal escapes text, a JSON array needs commas, and a test's output may have no descriptor.
        """
        if self._renderer.form is DumpFormat.JSON or self._terminal is not None:
            return None
        try:
            return sys.stdout.fileno()
        except OSError:
            return None


def show_files(files: Sequence[str], renderer: Renderer) -> int:
    """Write all files. Return the exit status: 1 if a file is damaged or was removed, 2 if a file is not a log."""
    writer, status = Writer(renderer), 0
    for file in files:
        try:
            status = max(status, dump_file(file, renderer, writer))
        except FileNotFoundError:
            writer.flush()
            say(f"kraft: {file}: {REMOVED}")
            status = max(status, FAILED)
        except (CliError, PermissionError) as error:
            writer.flush()
            if isinstance(error, PermissionError) and error.filename != file:
                raise  # one beside the log, which is the same of its other files
            status = max(status, exit_code_of(error) or FAILED)
    writer.end()
    return max(status, say_gaps(files, writer.ends))


def say_gaps(files: Sequence[str], known: Mapping[Path, LostEnd] | None = None) -> int:
    """Report missing offsets before or within these segments, and misnamed checkpoints. Return the exit status."""
    from metadata_log.tools.verify.lost_end import lost_end  # noqa: PLC0415  (not needed for help)

    ends, status, named = dict(known or {}), 0, {Path(file): file for file in files}
    for directory in dict.fromkeys(path.parent for path in named if _is_of_log(path)):
        found = ends.get(directory) or lost_end(directory)
        for gap in found.gaps:
            path = named.get(directory / gap.before)
            if path is not None:
                say(f"kraft: {path}: {gap} (kraft log verify says more)")
                status = FAILED
        for name, why in found.misnamed.items():
            if directory / name in named:
                say(f"kraft: {named[directory / name]} is misnamed: {why} (kraft check says more)")
                status = FAILED
    return status


def _is_of_log(path: Path) -> bool:
    from metadata_log.storage.checkpoint import parse_checkpoint_name  # noqa: PLC0415  (not of each file that is shown)

    end = parse_checkpoint_name(path.name)
    return bool(segment_bases([path.name])) or (end is not None and end.offset > 0)


def dump_file(path: str, renderer: Renderer, writer: Writer) -> int:
    """Write one file, also behind its damage. Return its exit status.

    Raises:
        CliError: it is not a log.
        FileNotFoundError: it was removed.
    """
    handle = renderer.files.open(path, read_only=True)
    try:
        lost = EndOfLog(path, writer.ends)
        course = Course(handle, handle.size(), first_offset_of(path), lost.is_certain)
        require_log(path, course)
        writer.write(renderer.title(path))
        status = 0
        while course.tail is None:
            with contextlib.suppress(MetadataLogError):  # the course stays at the corrupt batch, and reports it
                _write_sound(path, course, renderer, writer)
            status = max(status, write_past_trouble(path, course, renderer, writer))
        writer.write(renderer.tail(path, course.tail))
        if lost.sentences():
            writer.flush()
            status = FAILED
        for sentence in lost.sentences():
            say(f"kraft: {path}: {sentence}")
        return status
    finally:
        handle.close()


class EndOfLog:
    """The proven loss at the end of a log, if this file is its last segment. It is looked up once."""

    def __init__(self, path: str, known: dict[Path, LostEnd]) -> None:
        self._path = Path(path)
        self._known = known

    def is_certain(self) -> bool:
        return self._found is not None and self._found.is_certain

    def sentences(self) -> list[str]:
        """Return the losses that the file's own bytes do not show. The course reports the others."""
        from metadata_log.tools.verify.lost_end import of_one_log  # noqa: PLC0415  (of a last segment alone)

        found = () if self._found is None else self._found.findings
        return [of_one_log(one) for one in found if one.kind != "corrupt_batch"]

    @cached_property
    def _found(self) -> LostEnd | None:
        from metadata_log.tools.verify.lost_end import lost_end  # noqa: PLC0415  (of a last segment alone)

        bases = segment_bases(os.listdir(self._path.parent))
        if not bases or self._path.name != segment_file(bases[-1]):
            return None
        return self._known.setdefault(self._path.parent, lost_end(self._path.parent))


def require_log(path: str, course: Course) -> None:
    """Accept a file that is a log by its name, or has a batch.

    Raises:
        CliError: it is neither.
    """
    if first_offset_of(path) is None and course.is_rubbish():
        raise wrong_use(f"{path} is no segment and no checkpoint, and holds no batch")


def write_past_trouble(path: str, course: Course, renderer: Renderer, writer: Writer) -> int:
    """Write each valid batch up to the end of a damaged part, and report the damage. Return the exit status."""
    status = 0
    for found in course.past_trouble(
        lambda piece: renderer.text(piece, path, sealed=True), lambda piece: renderer.text(piece, path)
    ):
        if isinstance(found, Flaw):
            writer.flush()
            say(f"kraft: {path}: {found}")
            status = FAILED
        else:
            writer.write(found)
    return status


def _write_sound(path: str, course: Course, renderer: Renderer, writer: Writer) -> None:
    """Write the chunks from the course's position on, in several processes if the file is large.

    Raises:
        MetadataLogError: a chunk is corrupt; the course stays at its beginning.
    """

    def render(piece: Piece) -> Rendered:
        shown = renderer.show(piece, path, sealed=True)
        return Rendered(content=b"" if shown.error is not None else _bytes_of(shown.text), error=shown.error)

    start, descriptor, count = course.position, writer.descriptor(), processes()
    if descriptor is not None and count > 1 and course.left >= WORTH_IT:
        writer.flush()
        write_in_turns(lambda: course.pieces(start), render, descriptor, count)
        return
    for piece in course.pieces(start):
        writer.write(renderer.text(piece, path, sealed=True))


def named(error: MetadataLogError, path: str) -> str:
    """Return the error as a sentence that names the file."""
    text = str(error)
    return text if path in text else f"{path}: {text}"
