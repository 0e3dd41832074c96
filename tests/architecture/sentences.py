"""Find where a program decides by the words of a sentence or of a printed command, or edits them.

`python tests/architecture/sentences.py` prints every place. A place compares, searches, cuts or replaces words of an
attribute in SENTENCES or COMMANDS, also through a variable. A test for identity or emptiness reads no words, nor does
what puts a sentence into a longer one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

PACKAGES: Final = ("metadata_log", "quorum", "broker_agent", "kraft")
SENTENCES: Final = frozenset({"meaning", "what", "why", "advice", "may_lose"})
"""Fields that hold sentences for people: of findings, errors, verdicts and repairs."""
_NAMES: Final = SENTENCES - {"what"}
"""Variables of these names hold sentences; `what` is a single word in some functions."""
COMMANDS: Final = {
    "quorum/recovery": frozenset({"commands", ".commands", "command", ".command", "line"}),
    "metadata_log/tools": frozenset({"commands", ".commands"}),
}
"""Names of printed commands by folder; a field is a name after a dot. In the tools a `command` is a tuple of words."""
_IN_SENTENCES: Final = frozenset({*_NAMES, *(f".{field}" for field in SENTENCES)})
_EDITS: Final = frozenset(
    [
        "replace",
        "removesuffix",
        "removeprefix",
        "startswith",
        "endswith",
        "partition",
        "rpartition",
        "split",
        "rsplit",
        "find",
        "rfind",
        "index",
        "rindex",
        "count",
        "translate",
    ]
)
_SEARCHES: Final = frozenset(["match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split", "get"])
_KEEPS_WORDS: Final = frozenset(["strip", "rstrip", "lstrip", "lower", "upper", "capitalize"])
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def places(source: str, file: str) -> list[str]:
    """Return `file:function:line` of each place of a module that reads sentences."""
    return _places(source, file, _IN_SENTENCES)


def command_places(source: str, file: str, folder: str = "quorum/recovery") -> list[str]:
    """Return `file:function:line` of each place of a module that reads printed commands."""
    return _places(source, file, COMMANDS[folder])


def _places(source: str, file: str, read: frozenset[str]) -> list[str]:
    """Return the places that read one of these names; a field is a name after a dot."""
    found = []
    for function in _functions(ast.parse(source)):
        names = _names_of_sentences(function, read)
        lines = (node.lineno for node in ast.walk(function) if isinstance(node, ast.expr) and _is_place(node, names))
        found += [f"{file}:{function.name}:{line}" for line in dict.fromkeys(lines)]
    return found


def places_below(root: Path) -> list[str]:
    """Return the places of all packages that read sentences."""
    return [place for path in _modules(root, PACKAGES) for place in places(path.read_text(), _name(root, path))]


def command_places_below(root: Path) -> list[str]:
    """Return the places below the folders of COMMANDS that read printed commands."""
    return [
        place
        for folder in COMMANDS
        for path in _modules(root, [folder])
        for place in command_places(path.read_text(), _name(root, path), folder)
    ]


def steps_by_hand(source: str, file: str) -> list[str]:
    """Return `file:line` of each step that gets its printed commands without `step_of`."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        f"{file}:{call.lineno}"
        for call in calls
        if ast.unparse(call.func) == "Step" and any(given.arg in ("commands", "recover") for given in call.keywords)
    ]


def steps_by_hand_below(root: Path) -> list[str]:
    """Return such places below quorum/, without the module of `step_of`."""
    modules = [path for path in _modules(root, ["quorum"]) if path.name != "next_steps.py"]
    return [place for path in modules for place in steps_by_hand(path.read_text(), _name(root, path))]


def _modules(root: Path, folders: Sequence[str]) -> list[Path]:
    return [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]


def _name(root: Path, path: Path) -> str:
    return str(path.relative_to(root))


def _functions(tree: ast.AST) -> Iterator[_Function]:
    """Yield the outermost functions, also of classes; a nested one is walked as a part of its outer one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        else:
            yield from _functions(node)


def _names_of_sentences(function: _Function, read: frozenset[str]) -> set[str]:
    """Return the variables that hold sentences, or several: assigned, looped over, or named like one."""
    names = set(read)
    bound = list(_bindings(function))
    while True:
        more = {name.id for target, value in bound if _is_sentence(value, names) for name in _targets(target)}
        if more <= names:
            return names
        names |= more


def _bindings(function: _Function) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets)
            case ast.NamedExpr(target=name, value=value):
                yield name, value
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, value
            case ast.For(target=target, iter=items) | ast.comprehension(target=target, iter=items):
                yield target, items
            case _:
                pass


def _targets(target: ast.expr) -> Iterator[ast.Name]:
    """Yield the names that an assignment binds, where one value goes to one name."""
    if isinstance(target, ast.Name):
        yield target


def _is_place(node: ast.expr, names: set[str]) -> bool:
    match node:
        case ast.Compare(left=left, ops=operators, comparators=others):
            sides = [left, *others]
            return not isinstance(operators[0], ast.Is | ast.IsNot) and any(_is_sentence(side, names) for side in sides)
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=given):
            is_edited = attr in _EDITS and _is_sentence(value, names)
            return is_edited or (attr in _SEARCHES and any(_is_sentence(one, names) for one in given))
        case ast.Subscript(value=value, slice=key):
            return _is_sentence(key, names) or (isinstance(key, ast.Slice) and _is_sentence(value, names))
        case _:
            return False


def _is_sentence(node: ast.expr, names: set[str]) -> bool:
    """Return True if an expression is a sentence, or several of them."""
    match node:
        case ast.Attribute(attr=attr) | ast.Call(func=ast.Attribute(attr=attr)) if f".{attr}" in names:
            return True
        case ast.Name(id=name):
            return name in names
        case _:
            return any(_is_sentence(one, names) for one in _whose_words_it_has(node))


def _whose_words_it_has(node: ast.expr) -> Sequence[ast.expr]:
    """Return the parts of an expression whose words are in its value."""
    parts: Sequence[ast.expr] = ()
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _EDITS | _KEEPS_WORDS:
            parts = (value,)
        case ast.Call(func=ast.Name(id="str" | "list" | "tuple" | "sorted" | "set"), args=[value, *_]):
            parts = (value,)
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.NamedExpr(value=value):
            parts = (value,)
        case ast.JoinedStr(values=values):
            parts = [one.value for one in values if isinstance(one, ast.FormattedValue)]
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            parts = (left, right)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
            parts = values
        case ast.GeneratorExp(elt=each) | ast.ListComp(elt=each) | ast.SetComp(elt=each):
            parts = (each,)
        case _:
            pass
    return parts


if __name__ == "__main__":
    _root = Path(__file__).resolve().parents[2]
    print("\n".join([*places_below(_root), *command_places_below(_root)]))
