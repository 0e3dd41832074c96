"""The sizes of files and functions, and the fragments: `python tests/architecture/sizes.py` prints them.

With `--check` it prints only what the budget does not allow. It exits with 1 if there is any.

`sizes.json` is the budget. It names every long file, every long function and every fragment, each with a reason of one
line. A change of the budget is a commit that says why; `test_sizes` compares the tree with it.
"""

from __future__ import annotations

import ast
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
BUDGET: Final = Path(__file__).with_name("sizes.json")
PACKAGES: Final = ("kraft", "metadata_log", "pyspark_kraft", "quorum", "broker_agent")
GENERATED: Final = frozenset({"metadata_log/records/codec.py", "metadata_log/records/printers.py"})

LONG_FILE, LONGEST_FILE, MOST_LONG_FILES = 400, 600, 8
LONG_FUNCTION, LONGEST_FUNCTION, MOST_LONG_FUNCTIONS = 50, 80, 6
MOST_FRAGMENTS: Final = 12
DEEPEST: Final = 4
FRAGMENT: Final = 40
"""A file of at most so many lines that exactly one other file imports is a fragment."""
ONE_FILE_EACH: Final = ("quorum.controller.handlers",)
"""Packages with one file for each of many like things, here requests: however short, such a file is no fragment."""

REMEDIES: Final = {
    "files": f"more than {LONG_FILE}: split it into modules",
    "functions": f"more than {LONG_FUNCTION}: split it into functions",
    "fragments": f"at most {FRAGMENT}, and one file imports it: move its content there",
}
"""The limit of each kind of size, and what to do about it."""

_NESTING: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
_BODIES: Final = (ast.stmt, ast.ExceptHandler, ast.match_case)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class Source(NamedTuple):
    """One Python file of the product: `name` is its path below the checkout."""

    name: str
    module: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """The number of its lines."""
        return len(self.text.splitlines())


class Function(NamedTuple):
    """A function or method: `name` is `FILE::Class.function`, `depth` the deepest nesting of its statements."""

    name: str
    lines: int
    depth: int


def sources(root: Path = ROOT) -> list[Source]:
    """Return every file of the product that a person wrote."""
    found = []
    for path in (path for top in PACKAGES for path in sorted((root / top).rglob("*.py"))):
        name, text = str(path.relative_to(root)), path.read_text()
        if name not in GENERATED and "_pb2" not in name:
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found.append(Source(name, module, text, ast.parse(text)))
    return found


def functions(source: Source) -> Iterator[Function]:
    """Yield every function of a file, those in classes and in functions, too."""

    def below(node: ast.AST, path: str) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, _BODIES):
                continue
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                name = f"{path}.{child.name}" if path else child.name
                if isinstance(child, _FUNCTIONS):
                    lines = (child.end_lineno or child.lineno) - child.lineno + 1
                    yield Function(f"{source.name}::{name}", lines, _depth(child))
                yield from below(child, name)
            else:
                yield from below(child, path)

    yield from below(source.tree, "")


def _depth(node: ast.AST) -> int:
    """Return how many statements of control flow lie in each other; an `elif` is as deep as its `if`."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)) or not isinstance(child, _BODIES):
            continue
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, _depth(child) + (isinstance(child, _NESTING) and not is_elif))
    return deepest


def importers(files: Iterable[Source]) -> Mapping[str, set[str]]:
    """Return by module the modules that import it, in any form, lazy ones, too."""
    modules = {source.module for source in files}
    found: dict[str, set[str]] = defaultdict(set)
    for source in files:
        for node in ast.walk(source.tree):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                named = [name if name in modules else node.module for name in full]
            for name in named:
                if name in modules and name != source.module:
                    found[name].add(source.module)
    return found


def fragments(files: list[Source]) -> dict[str, int]:
    """Return the fragments by name, with their lines.

    A package's `__init__` does not count, nor does a file of `ONE_FILE_EACH`.
    """
    by_module = importers(files)
    return {
        source.name: source.lines
        for source in files
        if source.lines <= FRAGMENT
        and not source.name.endswith("__init__.py")
        and source.module.rpartition(".")[0] not in ONE_FILE_EACH
        and len(by_module[source.module]) == 1
    }


def import_share(files: list[Source]) -> dict[str, float]:
    """Return by package the median of a file's imports from the product, in lines for each 100 lines. Not enforced."""
    shares: dict[str, list[float]] = defaultdict(list)
    for source in files:
        if not source.name.endswith("__init__.py"):
            lines = sum(
                (node.end_lineno or node.lineno) - node.lineno + 1
                for node in source.tree.body
                if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES
            )
            shares[source.module.rpartition(".")[0]].append(100 * lines / source.lines)
    return {package: statistics.median(values) for package, values in sorted(shares.items())}


def complaints(files: list[Source], budget: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return one line for each size that the budget does not allow, and for each of its entries that is not needed."""
    long_files = {source.name: source.lines for source in files if source.lines > LONG_FILE}
    every = [function for source in files for function in functions(source)]
    long_functions = {function.name: function.lines for function in every if function.lines > LONG_FUNCTION}
    said = [
        f"{name}: {lines} lines, more than {LONGEST_FILE}" for name, lines in long_files.items() if lines > LONGEST_FILE
    ]
    said += [
        f"{one}: {lines} lines, more than {LONGEST_FUNCTION}"
        for one, lines in long_functions.items()
        if lines > LONGEST_FUNCTION
    ]
    said += [f"{one.name}: nested {one.depth} deep, more than {DEEPEST}" for one in every if one.depth > DEEPEST]
    for kind, found in (("files", long_files), ("functions", long_functions), ("fragments", fragments(files))):
        named = budget[kind]
        said += [
            f"{name}: {lines} lines, {REMEDIES[kind]}; or give the reason in tests/architecture/sizes.json, {kind}"
            for name, lines in found.items()
            if name not in named
        ]
        said += [f"{name}: sizes.json names it in {kind}, which is not needed" for name in named if name not in found]
        said += [f"{name}: sizes.json gives no reason" for name, reason in named.items() if not reason.strip()]
    most_of = {"files": MOST_LONG_FILES, "functions": MOST_LONG_FUNCTIONS, "fragments": MOST_FRAGMENTS}
    for kind, most in most_of.items():
        if len(budget[kind]) > most:
            said.append(f"sizes.json names {len(budget[kind])} {kind}, more than {most}")
    return said


def main() -> int:
    """Print the tables, unless `--check` is given, then every size that the budget does not allow."""
    files = sources()
    if "--check" not in sys.argv[1:]:
        _print_tables(files)
    found = complaints(files, json.loads(BUDGET.read_text()))
    for line in found:
        print(f"sizes: {line}")
    return int(bool(found))


def _print_tables(files: list[Source]) -> None:
    print(f"{len(files)} files, {sum(source.lines for source in files):,} lines")
    print("\nlongest files")
    for source in sorted(files, key=lambda one: -one.lines)[:15]:
        print(f"{source.lines:6}  {source.name}")
    print("\nlongest functions")
    every = [function for source in files for function in functions(source)]
    for function in sorted(every, key=lambda one: -one.lines)[:15]:
        print(f"{function.lines:6}  {function.name}")
    print("\ndeepest functions")
    for function in sorted(every, key=lambda one: -one.depth)[:8]:
        print(f"{function.depth:6}  {function.name}")
    print("\nfragments")
    for name, lines in sorted(fragments(files).items(), key=lambda one: one[1]):
        print(f"{lines:6}  {name}")
    print("\nlines of imports from the product, of 100 lines (median of a package's files)")
    for package, share in import_share(files).items():
        print(f"{share:6.1f}  {package}")


if __name__ == "__main__":
    sys.exit(main())
