"""Counts of what `docs/english.md` forbids, by package: they may only fall.

- `prose_report.py .`: print a table.
- `prose_report.py . --baseline FILE [--since COMMIT]`: print each count that changed, and each new place of a rise.
  The exit code is then 1.
- `prose_report.py . --write FILE`: store the counts.
- `prose_report.py . --list openings quorum/raft`: print every hit of one rule in one package.

It reads docstrings and comments of Python files that are not generated, and string constants that hold a sentence
(messages). It reads Markdown files without code blocks and tables (`docs`), and the subjects of commits. It writes only
the file of `--write`. A place is new if the newest commit within the baseline lacks it.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

CODE = ("kraft", "metadata_log", "pyspark_kraft", "quorum", "broker_agent", "tests", "benchmarks")
RULE_PAGES = ("docs/english.md", "docs/glossary.md")
"""They quote what they forbid."""
GENERATED = re.compile(r"_pb2|metadata_log/records/(codec|printers)\.py|/fixtures/|/\.")
OPENINGS = re.compile(
    r"(What|Whether|Where|That|Those|Who|Whom|Whose|Which|Whoever|Whatever|Why|How|Of|As|In|By|To whom)\b(?!-)"
)
"""A docstring that opens so is a clause, not a statement. `How many ...`, `When ...` of a count or a time may pass."""
ALLOWED_OPENINGS = re.compile(r"(How (many|much|long|far|often)\b|As `|In (ms|bytes|seconds)\b|By (id|name|offset)\b)")
BANNED = {
    "told": r"\b(?:is|are|was|were|be|been|being|as|it|one|they|who|that) told\b|\btold (?:of|apart|by|anew|once)\b",
    "tells": r"\btells?\b(?! (?:apart|you))",
    "whoever": r"\b(?:whoever|whomever|whosoever|whichever|wherever)\b",
    "nobody": r"\bnobody\b|\bsomebody\b|\banybody\b|\beverybody\b",
    "anew": r"\banew\b",
    "for ever": r"\bfor ever\b",
    "stands": r"\b(?:stands?|stood) (?:in|at|there|beside|behind|before|under|for|where|as|on|by|amid|so)\b",
    "goes by": r"\b(?:goes|go|went|going) by\b",
    "let go": r"\blet(?:s|ting)? go\b",
    "held for dead": r"\b(?:held|holds?|taken|takes?|took) (?:\w+ )?for (?:dead|one|that|its|an?|the)\b",
    "is none": r"\b(?:is|are|was|were) (?-i:none)\b",
    "of ours": r"\bof (?:ours|theirs|his|its own)\b",
    "rot": r"\brot(?:s|ten|ted)?\b",
    "amiss": r"\bamiss\b|\blest\b|\bbe it (?:that|as)\b|\bamid\b|\bthereof\b",
    "mend": r"\bmend(?:s|ed|ing)?\b",
    "parts from": r"\bpart(?:s|ed)? (?:from|ways|company)\b|\bwhere (?:they|logs|replicas|copies|it) parts?\b",
    "speaks for": r"\bspeaks? for\b|\bspoken for\b",
    "set back": r"\bset back\b",
    "by itself, that": r"\bso that (?:who|what|whoever)\b",
    "what ... that": r"\bwhat (?:is|was|are|were|has|had|it|they|one) [a-z ]{0,30}\bthat\b",
    "once more": r"\bonce more\b",
    "as much as": r"\bno more than what\b|\bnone but\b|\bnot but\b",
}
BANNED_RE = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in BANNED.items()}
NOISE = re.compile(
    r"Decides:? (?:nothing(?: else| but [^.]*)?|exactly that[^.]*|that|how|its words|the words|the form only"
    r"|the shape)\."
)
BOUNDARY = re.compile(r"\b(?:Decides|Must not know)\b:?")
LONG_WORDS = 25
"""A sentence of more words counts as long. The rule for writers is 20."""
SUBJECT = 72
COMMITS = 50
"""The newest commits, among which the last one within the baseline is looked for."""


RULE_TEXTS = {
    "openings": "a docstring begins with a verb or a noun, never with What, Whether, Where, Of, As, In (rule 1)",
    "words": "the quoted words are banned; docs/glossary.md has the word to use",
    "messages": "the quoted words are banned, in a message too; docs/glossary.md has the word to use",
    "long": f"a sentence has at most {LONG_WORDS} words (rule 7)",
    "noise": "a boundary that says nothing is deleted (rule 6)",
}
"""What each count is of, with the rule's number in docs/english.md."""


class Place(NamedTuple):
    """A line of a file."""

    package: str
    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    def after(self, text: str) -> Place:
        """Return the place behind this text."""
        return self._replace(line=self.line + text.count("\n"))


class Hit(NamedTuple):
    """One place where a rule is broken, with the sentence."""

    rule: str
    package: str
    place: str
    text: str


def package_of(path: Path) -> str:
    """The unit that is counted: a folder two deep, or the top folder."""
    parts = path.parts
    return "/".join(parts[:2]) if len(parts) > 2 and parts[0] != "benchmarks" else parts[0]


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence of prose and where it begins; rows of a list of attributes are left out."""
    prose = re.sub(r"(?m)^\s{4,}\S+  +\S.*$", "", text)
    at = 0
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.|\w+:))", prose):
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`(])", block.strip()):
            if sentence:
                at = prose.index(sentence, at)
                yield at, " ".join(sentence.split())
                at += len(sentence)


def code_hits(path: Path, source: str, package: str) -> Iterator[Hit]:
    """Yield the hits in one Python file: docstrings, comments, then messages."""
    tree = ast.parse(source)
    docstrings = list(_docstrings(tree))
    for node, at, constant in docstrings:
        text, place = str(constant.value), Place(package, path, constant.lineno)
        if at == 0:
            yield from _head_hits(text, place, is_module=isinstance(node, ast.Module))
        yield Hit("docstrings", package, str(place), "")
        yield from prose_hits(text, place)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(noqa|type:|fmt:|pragma|!)", token.string):
            yield from prose_hits(token.string.lstrip("# "), Place(package, path, token.start[0]))
    known = {id(constant) for _, _, constant in docstrings}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in known:
            yield from _message_hits(one.value, Place(package, path, one.lineno))


def _docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, int, ast.Constant]]:
    """Yield every string that is a statement: its module, class or function, its position there, and the string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for at, child in enumerate(node.body):
                constant = child.value if isinstance(child, ast.Expr) else None
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    yield node, at, constant


def _head_hits(text: str, place: Place, *, is_module: bool) -> Iterator[Hit]:
    """Yield the hits that only the first docstring of a module, class or function can have."""
    first = text.strip().partition("\n")[0]
    if OPENINGS.match(first) and not ALLOWED_OPENINGS.match(first):
        yield Hit("openings", place.package, str(place), first)
    if is_module:
        yield from (Hit("boundary", place.package, str(place), one[0]) for one in BOUNDARY.finditer(text))
        yield from (Hit("noise", place.package, str(place), one[0]) for one in NOISE.finditer(" ".join(text.split())))


def _message_hits(text: str, place: Place) -> Iterator[Hit]:
    """Yield the banned words in a string that holds a sentence."""
    if text.count(" ") >= 3:
        yield from _banned("messages", " ".join(text.split()), place)


def _banned(rule: str, text: str, place: Place) -> Iterator[Hit]:
    for name, pattern in BANNED_RE.items():
        for found in pattern.finditer(text):
            yield Hit(rule, place.package, str(place), f'{name}: "{found[0]}" in: {text}')


def prose_hits(text: str, place: Place) -> Iterator[Hit]:
    """Yield banned words and long sentences."""
    for at, sentence in sentences(text):
        here = place.after(text[:at])
        yield Hit("sentences", place.package, str(here), "")
        yield from _banned("words", sentence, here)
        if (words := len(sentence.split())) > LONG_WORDS:
            yield Hit("long", place.package, str(here), f"{words} words: {sentence}")


def doc_hits(path: Path, text: str) -> Iterator[Hit]:
    """Yield the hits in a Markdown file, outside of fenced and indented code and of tables."""
    prose = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), text, flags=re.DOTALL)
    prose = re.sub(r"(?m)^(    |\t|\s*\|).*$", "", prose)
    package = "docs" if path.parts[0] == "docs" or len(path.parts) == 1 else package_of(path)
    unit = "docs" if package in (path.name, "docs") else f"docs of {path.parts[0]}"
    yield from prose_hits(prose, Place(unit, path, 1))


def _git(root: Path, *words: str) -> list[str]:
    """Return the lines that a git command prints."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"prose: git {words[0]} failed, the clone must have the whole history: {done.stderr.strip()}")
    return done.stdout.splitlines()


def commit_hits(root: Path, since: str | None) -> Iterator[Hit]:
    """Commit subjects that are too long."""
    span = [f"{since}..HEAD"] if since else ["HEAD"]
    for line in _git(root, "log", "--no-merges", "--format=%h %s", *span):
        commit, _, subject = line.partition(" ")
        yield Hit("commits", "git log", commit, subject)
        if len(subject) > SUBJECT:
            yield Hit("subjects", "git log", commit, f"{len(subject)}: {subject[:100]}")


def file_hits(path: Path, text: str) -> Iterator[Hit]:
    """Yield the hits in one file of a checkout; none in a file that is not counted."""
    if path.suffix == ".py" and path.parts[0] in CODE and not GENERATED.search(str(path)):
        yield from code_hits(path, text, package_of(path))
    if path.suffix != ".md" or str(path) in RULE_PAGES or path.parts[0] == "build":  # `pip install .` copies docs there
        return
    if not any(part.startswith(".") or part in ("fixtures", "node_modules") for part in path.parts):
        yield from doc_hits(path, text)


def all_hits(root: Path, since: str | None) -> Iterator[Hit]:
    """Yield all hits in a checkout."""
    sources = [path for top in CODE for path in sorted((root / top).rglob("*.py"))]
    for path in (*sources, *sorted(root.rglob("*.md"))):
        yield from file_hits(path.relative_to(root), path.read_text())
    yield from commit_hits(root, since)


RULES = ("openings", "words", "messages", "long", "noise", "subjects")
SIZES = ("boundary", "docstrings", "sentences", "commits")


def main() -> int:
    """Print the table, and compare it with a baseline."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--since", help="count the subjects of commits after this one only")
    parser.add_argument("--write", type=Path, help="store the counts in this file")
    parser.add_argument("--baseline", type=Path, help="exit with 1 if a count is another than in this file")
    parser.add_argument("--list", nargs=2, metavar=("RULE", "PACKAGE"), help="print every hit of one rule")
    options = parser.parse_args()
    hits = list(all_hits(options.checkout.resolve(), options.since))
    if options.list:
        for hit in hits:
            if options.list == [hit.rule, hit.package]:
                print(f"{hit.place}: {hit.text}")
        return 0
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for hit in hits:
        counts[hit.package][hit.rule] += 1
    if options.write:
        options.write.write_text(json.dumps(_stored(counts), indent=1, sort_keys=True) + "\n")
    if not options.baseline:
        _print_table(counts, hits)
        return 0
    now, before = _stored(counts), json.loads(options.baseline.read_text())
    risen = [
        line
        for (package, rule), allowed in _risen(now, before).items()
        for line in _rise(options.checkout, [hit for hit in hits if _same_count(hit, package, rule)], allowed)
    ]
    risen += [f"{one}; store it with `--write {options.baseline}`" for one in _fallen(now, before)]
    too_long = [hit for hit in hits if hit.rule == "subjects"] if options.since else []
    for line in risen:
        print(f"prose: {line}")
    for hit in too_long:
        print(f"prose: the subject of commit {hit.place} has more than {SUBJECT} characters: {hit.text}")
    return 1 if risen or too_long else 0


def _stored(counts: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """Return the counts that a baseline keeps: every rule but the one of commits, where there is a hit."""
    kept = [rule for rule in RULES if rule != "subjects"]
    found = {package: {rule: one[rule] for rule in kept if one[rule]} for package, one in sorted(counts.items())}
    return {package: rules for package, rules in found.items() if rules}


def _risen(now: Mapping[str, Mapping[str, int]], before: Mapping[str, Mapping[str, int]]) -> dict[tuple[str, str], int]:
    """Return each package and rule whose count is above the baseline's, with the baseline's count."""
    return {
        (package, rule): before.get(package, {}).get(rule, 0)
        for package, rules in now.items()
        for rule, count in rules.items()
        if count > before.get(package, {}).get(rule, 0)
    }


def _same_count(hit: Hit, package: str, rule: str) -> bool:
    return (hit.package, hit.rule) == (package, rule)


def _rise(root: Path, hits: Sequence[Hit], allowed: int) -> Iterator[str]:
    """Yield the lines that describe one count above the baseline: the rule, then each new place with its sentence."""
    package, rule = hits[0].package, hits[0].rule
    yield f"{package}: {rule} rose from {allowed} to {len(hits)}: {RULE_TEXTS[rule]}"
    for hit in new_hits(root, hits, allowed):
        yield f"  {hit.place}: {hit.text}"


def new_hits(root: Path, hits: Sequence[Hit], allowed: int) -> list[Hit]:
    """Return the hits, all of one package and rule, that the newest commit with at most `allowed` of them lacks.

    Only files that differ from that commit are read there. All hits, if none of the newest commits is within the bound.
    """
    untracked = _git(root, "ls-files", "--others", "--exclude-standard")
    for commit in _git(root, "rev-list", f"--max-count={COMMITS}", "HEAD"):
        changed = {*_git(root, "diff", "--name-only", "--no-renames", "--relative", commit), *untracked}
        now = [hit for hit in hits if hit.place.rpartition(":")[0] in changed]
        known = set(_git(root, "ls-tree", "-r", "--name-only", commit)) & changed
        then = Counter(hit.text for path in sorted(known) for hit in _hits_at(root, commit, path, hits[0]))
        if len(hits) - len(now) + then.total() <= allowed:
            return [hit for hit in now if not _taken(then, hit.text)]
    return list(hits)


def _hits_at(root: Path, commit: str, path: str, like: Hit) -> list[Hit]:
    """Return the hits of the same package and rule in a file as of that commit."""
    if Path(path).suffix not in (".py", ".md"):
        return []
    found = file_hits(Path(path), "\n".join(_git(root, "show", f"{commit}:./{path}")) + "\n")
    return [hit for hit in found if _same_count(hit, like.package, like.rule)]


def _taken(counts: Counter[str], text: str) -> bool:
    """Return True if the counts have this text; one of it is then taken off them."""
    counts[text] -= 1
    return counts[text] >= 0


def _fallen(now: Mapping[str, Mapping[str, int]], before: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return one line for each count that is below the baseline's, which would let it rise again."""
    return [
        f"{package}: {rule} fell from {count} to {now.get(package, {}).get(rule, 0)}"
        for package, rules in before.items()
        for rule, count in rules.items()
        if count > now.get(package, {}).get(rule, 0)
    ]


def _print_table(counts: Mapping[str, Counter[str]], hits: Iterable[Hit]) -> None:
    head = (*RULES, *SIZES)
    print(f"{'package':28}" + "".join(f"{name:>11}" for name in head))
    total: Counter[str] = sum(counts.values(), Counter())
    for package, one in (*sorted(counts.items()), ("all", total)):
        print(f"{package:28}" + "".join(f"{one[name]:>11,}" for name in head))
    words = Counter(hit.text.partition(":")[0] for hit in hits if hit.rule in ("words", "messages"))
    print("words:", ", ".join(f"{name} {count}" for name, count in words.most_common()))


if __name__ == "__main__":
    sys.exit(main())
