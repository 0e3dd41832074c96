"""`kraft docs`: the pages of `docs/`, which a wheel holds as `quorum/pages`."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

import quorum
from quorum.cli.errors import wrong_use

EPILOG: Final = "Examples:  kraft docs    kraft docs runbooks/cloned-volume    kraft docs broken-quorum | less"

_PACKAGE: Final = Path(quorum.__file__).parent
_INDEX: Final = "README"
_SECTION: Final = re.compile(r"## (.+)")
_ROW: Final = re.compile(r"\s*- \[[^\]]+\]\(([\w/-]+)\.md\): (.+)")


def complete_page(incomplete: str) -> list[str]:
    """Return the names of pages that begin with this text."""
    return [name for name in _pages() if name.startswith(incomplete)]


def run(
    page: Annotated[
        str,
        typer.Argument(
            metavar="[PAGE]",
            show_default=False,
            autocompletion=complete_page,
            help="The page to print, such as runbooks/cloned-volume. Without it the pages are listed.",
        ),
    ] = "",
) -> None:
    """List the pages of the documentation, or print one.

    A page is Markdown. On a terminal it is shown with $PAGER.
    """
    if not page:
        for line in _lines():
            print(line)
        return
    text = _text_of(_find(page))
    if sys.stdout.isatty():
        import pydoc  # noqa: PLC0415  (not needed for help)

        pydoc.pager(text)
    else:
        print(text, end="")


def folder_of(package: Path) -> Path:
    """Return the folder of the pages: `pages` in the installed package `quorum`, or `docs` beside it in a checkout."""
    installed = package / "pages"
    return installed if installed.is_dir() else package.parent / "docs"


def _text_of(name: str) -> str:
    return (folder_of(_PACKAGE) / f"{name}.md").read_text(encoding="utf-8")


def _sections() -> dict[str, dict[str, str]]:
    """Return each section of the index: its pages by name, each with one line about it."""
    sections: dict[str, dict[str, str]] = {}
    rows: dict[str, str] = {}
    for line in _text_of(_INDEX).splitlines():
        if section := _SECTION.fullmatch(line):
            rows = sections.setdefault(section[1], {})
        elif row := _ROW.fullmatch(line):
            rows[row[1].removesuffix(f"/{_INDEX}")] = row[2]
    return sections


def _pages() -> dict[str, str]:
    return {name: about for rows in _sections().values() for name, about in rows.items()}


def _lines() -> Iterator[str]:
    """Yield the list of pages, by section."""
    width = max(map(len, _pages()))
    for section, rows in _sections().items():
        yield section
        yield from (f"  {name:{width}}  {about}" for name, about in rows.items())
        yield ""
    yield "kraft docs PAGE prints one of them."


def _find(wanted: str) -> str:
    """Return the file, without its suffix, of the page named `wanted`.

    Raises:
        CliError: no page has this name; the message suggests the nearest ones.
    """
    pages = _pages()
    name = wanted.removeprefix("docs/").removesuffix(".md").removesuffix(f"/{_INDEX}")
    if name not in pages:
        raise wrong_use(f"{wanted!r} is no page: {_suggestion(name, pages)}")
    return f"{name}/{_INDEX}" if (folder_of(_PACKAGE) / name).is_dir() else name


def _suggestion(name: str, pages: Mapping[str, str]) -> str:
    """Return the end of the error about an unknown page: similar names, or the command that lists all pages."""
    last_parts = {page.rpartition("/")[2]: page for page in pages}
    known = {**last_parts, **{page: page for page in pages}}
    near = [known[one] for one in difflib.get_close_matches(name, known, n=3, cutoff=0.8)]
    near += [page for page in pages if len(name) > 2 and name in page]
    close = list(dict.fromkeys(near))[:3]
    return f"did you mean {' or '.join(close)}?" if close else "`kraft docs` lists all pages"
