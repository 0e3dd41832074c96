"""The Markdown pages of the tree: `python tests/architecture/pages.py` prints what is wrong, and exits with 1.

- Every relative link, with its anchor, leads somewhere. Links to the web are not looked at.
- Every page in `docs/` begins with its title, a blank line, and a line that names its reader: `For READER: QUESTION?`
- Every page in `docs/` has a row in the index, `docs/README.md`, under a section of `SECTIONS`.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
INDEX: Final = "docs/README.md"
SECTIONS: Final = ("Operate", "Repair", "Understand", "Change")
MOST_WORDS: Final = 25

_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_INDENTED: Final = re.compile(r"(?<=\n\n)(?: {4,}.*\n| *\n)+", re.MULTILINE)
_CODE: Final = re.compile(r"`[^`\n]+`")
_LINK: Final = re.compile(r"\]\(([^()\s]+)\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:")
_READER: Final = re.compile(r"For [^:?]+: \S.*\?")
_ROW: Final = re.compile(r"\s*- \[[^\]]+\]\(([^()\s]+)\): \S")


def pages(root: Path) -> dict[str, str]:
    """Return the text of every Markdown page of a checkout, by its path from the root. Hidden folders are left out."""
    found = sorted(path.relative_to(root) for path in root.rglob("*.md"))
    shown = [
        path for path in found if not any(part.startswith(".") for part in path.parts) and path.parts[0] != "build"
    ]
    return {path.as_posix(): (root / path).read_text(encoding="utf-8") for path in shown}


def complaints(root: Path, texts: dict[str, str]) -> list[str]:
    """Return what is wrong with these pages, a line each."""
    found = [line for name, text in texts.items() for line in link_complaints(root, name, text)]
    docs = {name: text for name, text in texts.items() if name.startswith("docs/")}
    found += [line for name, text in docs.items() for line in reader_complaints(name, text)]
    return found + index_complaints(docs)


def link_complaints(root: Path, name: str, text: str) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    links = (one or other for one, other in _LINK.findall(_CODE.sub("", _prose(text))))
    local = [link for link in dict.fromkeys(links) if not _SCHEME.match(link)]
    return [f"{name}: the link {link} leads nowhere" for link in local if not _leads_somewhere(root, name, link)]


def _prose(text: str) -> str:
    """Return the page without its blocks of code."""
    return _INDENTED.sub("\n", _FENCE.sub("", text))


def _leads_somewhere(root: Path, name: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    aim = root / os.path.normpath(Path(name).parent / path) if path else root / name
    if not aim.exists() or not aim.resolve().is_relative_to(root.resolve()):
        return False
    return not anchor or (aim.suffix == ".md" and anchor in anchors(aim.read_text(encoding="utf-8")))


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them: the second of one name ends in `-1`."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE):
        shown = re.sub(r"\[([^\]]+)\]\([^()\s]+\)", r"\1", heading).strip().lower()
        found.append(re.sub(r"[^\w\- ]", "", shown).replace(" ", "-"))
    return {f"{name}-{found[:at].count(name)}" if name in found[:at] else name for at, name in enumerate(found)}


def reader_complaints(name: str, text: str) -> list[str]:
    """Return what is wrong with the head of a page in `docs/`."""
    title, blank, reader = [*text.split("\n"), "", "", ""][:3]
    if not title.startswith("# ") or blank:
        return [f"{name}: it begins with a title and a blank line"]
    if not _READER.fullmatch(reader):
        return [f"{name}:3: name the page's reader: `For READER: QUESTION?`"]
    words = len(reader.split())
    return [f"{name}:3: {words} words, at most {MOST_WORDS} are allowed"] if words > MOST_WORDS else []


def index_complaints(docs: dict[str, str]) -> list[str]:
    """Return the pages in `docs/` that have no row in the index, and wrong sections of the index."""
    index = docs.get(INDEX, "")
    sections = tuple(re.findall(r"^## (.*)$", index, re.MULTILINE))
    found = [] if sections == SECTIONS else [f"{INDEX}: its sections are {', '.join(SECTIONS)}"]
    rows = {os.path.normpath(f"docs/{row[1]}") for line in index.splitlines() if (row := _ROW.match(line))}
    missing = sorted(docs.keys() - rows - {INDEX})
    return found + [f"{INDEX}: {name} needs a row, `- [{name[5:]}]({name[5:]}): what it has`" for name in missing]


def main() -> int:
    """Print the complaints about the pages of this checkout."""
    found = complaints(ROOT, pages(ROOT))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
