"""The page of all messages: errors, refusals, findings, advice, lines of the log, and other output of the product.

    python tests/architecture/messages_page.py .                       write build/messages.md
    python tests/architecture/messages_page.py . --list quorum/raft    print those of one package

It is not stored: it is made from the sources, so that no change of a message has a second place. A reader sees
the tone of a whole package at once, and which messages say one thing in two ways.

A message is a string constant with a space. Docstrings, help texts and generated modules are left out. A value that is
filled in is shown as its expression, in braces.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

PACKAGES: Final = ("kraft", "quorum", "metadata_log", "broker_agent")
PAGE: Final = Path("build/messages.md")
GENERATED: Final = re.compile(r"_pb2|metadata_log/records/(codec|printers)\.py")
HELP: Final = frozenset({"help", "epilog", "metavar", "short_help"})
"""Keywords whose texts a page of `--help` shows; `tests/golden` stores those pages."""
HELP_CALLS: Final = re.compile(r"option$|Option$|Argument$")
LOGGED: Final = frozenset({"debug", "info", "warning", "error", "exception"})
LEAST_WORDS: Final = 3
KINDS: Final = ("error", "refusal", "finding", "advice", "log", "text")


class Message(NamedTuple):
    """A message of the product, where it is, and what it is."""

    path: str
    line: int
    kind: str
    text: str

    @property
    def package(self) -> str:
        """Return the folder of its module."""
        return self.path.rpartition("/")[0]


def messages(root: Path) -> Iterator[Message]:
    """Yield the messages of the product, module by module, in the order of their lines."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if not GENERATED.search(name):
                yield from messages_of(name, path.read_text(encoding="utf-8"))


def messages_of(name: str, source: str) -> list[Message]:
    """Return the messages of one module."""
    finder = _Finder(name)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda message: message.line)


class _Finder(ast.NodeVisitor):
    """Collects the texts of a module; `_kind` is that of the innermost statement or call that decides it."""

    def __init__(self, path: str) -> None:
        self.found: list[Message] = []
        self._path = path
        self._kind = "finding" if "/findings/" in path else "text"

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a constant by itself is a docstring
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._within("error", [node])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._within("finding" if node.name == "meaning" else self._kind, node.body)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        is_refusal = bool(node.elts) and _names(node.elts[0], "Error")
        self._within("refusal" if is_refusal else self._kind, [node])

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if HELP_CALLS.search(name):
            return
        self._within(self._kind_of_call(node, name), [node.func, *node.args, *node.keywords])

    def _kind_of_call(self, node: ast.Call, name: str) -> str:
        if any(_names(argument, "Error") for argument in (*node.args, *(each.value for each in node.keywords))):
            return "refusal"
        if name == "Advice":
            return "advice"
        if name in LOGGED and isinstance(node.func, ast.Attribute) and "log" in ast.unparse(node.func.value).lower():
            return "log"
        return self._kind

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in HELP:
            self._within("advice" if node.arg == "advice" else self._kind, [node.value])

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._add(node, node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._add(node, "".join(_part(value) for value in node.values))
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self.visit(value.value)

    def _add(self, node: ast.expr, text: str) -> None:
        words = " ".join(text.split())
        if len(words.split()) >= LEAST_WORDS and re.search(r"[a-z]{2}", words):
            self.found.append(Message(self._path, node.lineno, self._kind, words))

    def _within(self, kind: str, nodes: Iterable[ast.AST]) -> None:
        before, self._kind = self._kind, kind
        for node in nodes:
            if isinstance(node, ast.Raise | ast.Tuple):
                self.generic_visit(node)
            else:
                self.visit(node)
        self._kind = before


def _names(node: ast.expr, enum: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == enum


def _part(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    return "{" + ast.unparse(value.value if isinstance(value, ast.FormattedValue) else value) + "}"


def page(found: Iterable[Message]) -> str:
    """Return the page: a section for each folder, a block for each kind, a line for each message."""
    by_package: dict[str, dict[str, list[Message]]] = {}
    for message in found:
        by_package.setdefault(message.package, {}).setdefault(message.kind, []).append(message)
    lines = ["# Messages of the product", "", "Made by `make messages` from the sources.", ""]
    for package, kinds in sorted(by_package.items()):
        lines += [f"## {package}", ""]
        for kind in sorted(kinds, key=KINDS.index):
            lines += [f"### {kind}: {len(kinds[kind])}", "", "```text"]
            lines += [f"{message.text}    {message.path.rpartition('/')[2]}:{message.line}" for message in kinds[kind]]
            lines += ["```", ""]
    return "\n".join(lines)


def main() -> int:
    """Write the page, or print a package's messages; return the exit status."""
    parser = argparse.ArgumentParser(description="Show all messages of the product.")
    parser.add_argument("root", type=Path)
    parser.add_argument("--list", metavar="PACKAGE", help="print the messages of one package alone")
    options = parser.parse_args()
    found = list(messages(options.root))
    if options.list is not None:
        chosen = [message for message in found if message.path.startswith(options.list)]
        for message in chosen:
            print(f"{message.path}:{message.line}: {message.kind}: {message.text}")
        if not chosen:
            print(f"no message below {options.list!r}", file=sys.stderr)
        return 0 if chosen else 2
    target = options.root / PAGE
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(found), encoding="utf-8")
    print(f"{target}: {len(found):,} messages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
