"""How `kraft log dump` shows records: one renderer for each form, and the writing of pieces.

Decides: the forms. Must not know: where files come from.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

from metadata_log.errors import MetadataLogError
from metadata_log.os_files import OsFiles
from metadata_log.tools.dump import Shown, joined, show_text, tail_lines, title_lines
from metadata_log.tools.dump_lines import Style
from metadata_log.tools.dump_pieces import Piece, pieces
from metadata_log.tools.dump_select import Selection
from metadata_log.tools.dump_turns import WORTH_IT, Rendered, processes, write_in_turns
from quorum.cli.errors import FAILED, say

if TYPE_CHECKING:
    from metadata_log.tools.dump_texts import TextRow


class DumpFormat(enum.StrEnum):
    """What `-o` of dump takes."""

    TEXT = "text"
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"


_TABLE: Final = "{:>10}  {:>5}  {:<24}  {:<34}  {:>7}  {}\n"
_SEPARATOR: Final = ",\n"
_EVERYTHING: Final = Selection()


class Renderer:
    """Pieces of a file as text in one form."""

    def __init__(
        self,
        form: DumpFormat = DumpFormat.TEXT,
        style: Style = Style.KAFKA_4_3,
        selection: Selection = _EVERYTHING,
    ) -> None:
        self.form = form
        self._style = style
        self._selection = selection

    def head(self) -> str:
        """Before the first file."""
        if self.form is DumpFormat.CSV:
            from metadata_log.tools.dump_texts import CSV_HEAD  # noqa: PLC0415  (not needed for text)

            return CSV_HEAD
        return "[" if self.form is DumpFormat.JSON else ""

    def title(self, path: str) -> str:
        """Before a file's first batch."""
        if self.form is DumpFormat.TEXT:
            return joined(list(title_lines(path)))
        if self.form is DumpFormat.TABLE:
            return f"{path}:\n" + _TABLE.format("offset", "epoch", "time", "type", "version", "data")
        return ""

    def show(self, piece: Piece, path: str) -> Shown:
        """A piece of a file."""
        if self.form is DumpFormat.TEXT:
            return show_text(piece, self._style, self._selection)
        from metadata_log.tools.dump_texts import show_csv, show_json_lines, show_rows  # noqa: PLC0415

        if self.form is DumpFormat.TABLE:
            return show_rows(piece, self._selection, _table_line)
        if self.form is DumpFormat.CSV:
            return show_csv(piece, path, self._selection)
        return show_json_lines(piece, path, self._selection, _SEPARATOR if self.form is DumpFormat.JSON else "\n")

    def tail(self, path: str, size: int) -> str:
        """After a file's last batch, when `size` bytes follow that are none; for programs it goes to standard error."""
        lines = list(tail_lines(path, size))
        if self.form is DumpFormat.TEXT:
            return joined(lines)
        for line in lines:
            say(f"kraft: {path}: {line[0].lower()}{line[1:]}")
        return ""


class Writer:
    """Standard output; for a JSON array it holds back the last comma."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._out: BinaryIO = sys.stdout.buffer
        self._held = ""
        sys.stdout.flush()
        self.write(renderer.head())

    def write(self, text: str) -> None:
        """Write a text of whole rows."""
        if self._renderer.form is DumpFormat.JSON:
            if not text:
                return
            text, self._held = self._held + text.removesuffix(_SEPARATOR), _SEPARATOR if text != "[" else ""
        self._out.write(text.encode())

    def end(self) -> None:
        """After the last file."""
        if self._renderer.form is DumpFormat.JSON:
            self._out.write(b"]\n")
        self._out.flush()

    def flush(self) -> None:
        """Let the reader of a pipe have what there is."""
        self._out.flush()

    def descriptor(self) -> int | None:
        """That of standard output, where it is a file of the operating system and rows need nothing between them."""
        if self._renderer.form is DumpFormat.JSON:
            return None
        try:
            return sys.stdout.fileno()
        except OSError:
            return None


def show_files(files: Sequence[str], renderer: Renderer) -> int:
    """Write all files; the exit status: 1 when one is damaged so that it cannot be read on."""
    writer, status = Writer(renderer), 0
    for file in files:
        try:
            dump_file(file, renderer, writer)
        except MetadataLogError as error:
            writer.flush()
            say(f"kraft: {named(error, file)}")
            status = FAILED
    writer.end()
    return status


def dump_file(path: str, renderer: Renderer, writer: Writer) -> None:
    """Write one file.

    Raises:
        MetadataLogError: it is damaged, after what stands before the damage.
    """
    handle = OsFiles().open(path, read_only=True)
    try:
        size = handle.size()
        writer.write(renderer.title(path))
        end = 0
        descriptor, count = writer.descriptor(), processes()

        def open_pieces() -> Iterator[Piece]:
            nonlocal end
            for piece in pieces(handle, size):
                yield piece
                end = piece.end

        def render(piece: Piece) -> Rendered:
            shown = renderer.show(piece, path)
            return Rendered(content=shown.text.encode(), error=shown.error)

        if descriptor is not None and count > 1 and size >= WORTH_IT:
            writer.flush()
            write_in_turns(open_pieces, render, descriptor, count)
        else:
            for piece in open_pieces():
                shown = renderer.show(piece, path)
                writer.write(shown.text)
                if shown.error is not None:
                    raise shown.error
        writer.write(renderer.tail(path, size - end))
    finally:
        handle.close()


def named(error: MetadataLogError, path: str) -> str:
    """The error as a sentence that names the file."""
    text = str(error)
    return text if path in text else f"{path}: {text}"


def _table_line(row: TextRow) -> str:
    from metadata_log.tools.times import time_text  # noqa: PLC0415  (not needed for text)

    time = "-" if row.timestamp_ms < 0 else time_text(row.timestamp_ms)
    version = "-" if row.version is None else row.version
    data = row.data if row.error is None else f"{row.error}{'' if row.data is None else ': ' + row.data}"
    return _TABLE.format(row.offset, row.epoch, time, row.type, version, data)
