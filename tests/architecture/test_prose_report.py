"""The prose ratchet: `make check` runs it, and it fails where a count rises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPT, BASELINE = HERE / "prose_report.py", HERE / "prose.json"
D572B3A = {"openings": 1674, "words": 2144, "messages": 400, "long": 889, "noise": 58}
"""The totals of the commit from which on no count may rise."""

NOBODY, ANEW = "nobody", "anew"
"""Banned words: alone they are no sentence, so that this file has no hits."""

PLAIN = '"""Texts."""\n\n\ndef f():\n    """Return 1."""\n'


def _checkout(root: Path, text: str, subject: str = "quorum: add texts") -> Path:
    (root / "quorum" / "raft").mkdir(parents=True, exist_ok=True)
    (root / "quorum" / "raft" / "texts.py").write_text(text)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "--allow-empty", "-m", subject]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return root


def _report(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"""Whether it is so."""\n', "quorum/raft: openings rose from 0 to 1"),
        ('"""Texts."""\n\nx = "it is ' + "told a" + 'new by them"\n', "quorum/raft: messages rose from 0 to 2"),
        ('"""Texts."""\n\nx = 1  # no' + "body knows\n", "quorum/raft: words rose from 0 to 1"),
        ('"""Texts. Decides: nothing."""\n', "quorum/raft: noise rose from 0 to 1"),
        (f'"""A {"long " * 26}sentence."""\n', "quorum/raft: long rose from 0 to 1"),
    ],
)
def test_a_count_that_rises_fails(tmp_path: Path, text: str, said: str) -> None:
    baseline = tmp_path / "prose.json"
    before = _checkout(tmp_path / "checkout", PLAIN)
    assert _report(before, "--write", str(baseline)).returncode == 0
    assert _report(before, "--baseline", str(baseline)).returncode == 0

    after = _report(_checkout(before, text), "--baseline", str(baseline))

    assert after.returncode == 1
    assert said in after.stdout


def _rise_of(checkout: Path, baseline: Path) -> list[str]:
    done = _report(checkout, "--baseline", str(baseline))
    assert done.returncode == 1, done.stderr
    return done.stdout.splitlines()


def test_a_rise_prints_each_new_sentence_with_its_line_and_the_rule(tmp_path: Path) -> None:
    baseline = tmp_path / "prose.json"
    old = f'"""Texts."""\n\nA = 1  # {NOBODY} knows\nB = 2  # {NOBODY} asks\n'
    checkout = _checkout(tmp_path / "checkout", old)
    assert _report(checkout, "--write", str(baseline)).returncode == 0
    _checkout(checkout, f"{old}\n# Both are banned: {ANEW}, {NOBODY}.\n")
    (checkout / "quorum" / "raft" / "page.md").write_text(f"# Page\n\n    code\n\nA sentence.\nIt begins {ANEW}.\n")

    lines = _rise_of(checkout, baseline)

    word = "the quoted words are banned; docs/glossary.md has the word to use"
    assert lines == [
        f"prose: docs of quorum: words rose from 0 to 1: {word}",
        f'prose:   quorum/raft/page.md:6: {ANEW}: "{ANEW}" in: It begins {ANEW}.',
        f"prose: quorum/raft: words rose from 2 to 4: {word}",
        f'prose:   quorum/raft/texts.py:6: {NOBODY}: "{NOBODY}" in: Both are banned: {ANEW}, {NOBODY}.',
        f'prose:   quorum/raft/texts.py:6: {ANEW}: "{ANEW}" in: Both are banned: {ANEW}, {NOBODY}.',
    ]


def test_a_rise_leaves_out_what_a_commit_within_the_baseline_has(tmp_path: Path) -> None:
    """Counts may rise in a commit, and the sentences move on before the check runs."""
    baseline = tmp_path / "prose.json"
    checkout = _checkout(tmp_path / "checkout", '"""Whether it is old."""\n')
    assert _report(checkout, "--write", str(baseline)).returncode == 0
    risen = '"""Whether it is old."""\n\n\ndef f():\n    """Where it is new."""\n'
    _checkout(_checkout(checkout, risen), "\n\n" + risen, "quorum: move texts")

    lines = _rise_of(checkout, baseline)

    assert len(lines) == 2
    assert "openings rose from 1 to 2: a docstring begins with a verb or a noun" in lines[0]
    assert lines[1] == "prose:   quorum/raft/texts.py:7: Where it is new."


def test_a_rise_above_all_commits_prints_every_place(tmp_path: Path) -> None:
    baseline = tmp_path / "prose.json"
    baseline.write_text("{}")
    checkout = _checkout(tmp_path / "checkout", f'"""Texts.\n\nOne. A {"long " * 25}one.\n"""\n')

    lines = _rise_of(checkout, baseline)

    assert [line.partition(": A long")[0] for line in lines] == [
        "prose: quorum/raft: long rose from 0 to 1: a sentence has at most 25 words (rule 7)",
        "prose:   quorum/raft/texts.py:3: 27 words",
    ]


def test_a_count_that_falls_has_to_be_stored(tmp_path: Path) -> None:
    baseline = tmp_path / "prose.json"
    before = _checkout(tmp_path / "checkout", '"""Whether it is so."""\n')
    assert _report(before, "--write", str(baseline)).returncode == 0
    after = _checkout(before, PLAIN)

    fallen = _report(after, "--baseline", str(baseline))
    stored = _report(after, "--baseline", str(baseline), "--write", str(baseline))

    assert fallen.returncode == 1
    assert "quorum/raft: openings fell from 1 to 0; store it with" in fallen.stdout
    assert stored.returncode == 0


def test_a_subject_that_is_too_long_fails(tmp_path: Path) -> None:
    baseline = tmp_path / "prose.json"
    checkout = _checkout(tmp_path / "checkout", PLAIN)
    assert _report(checkout, "--write", str(baseline)).returncode == 0
    head = subprocess.run(["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    words = ("--baseline", str(baseline), "--since", head.stdout.strip())
    assert _report(_checkout(checkout, PLAIN, "q" * 72), *words).returncode == 0

    after = _report(_checkout(checkout, PLAIN, "q" * 73), *words)

    assert after.returncode == 1
    assert "more than 72 characters" in after.stdout


def test_no_total_of_the_baseline_exceeds_the_first_one() -> None:
    baseline = json.loads(BASELINE.read_text())
    totals = {rule: sum(counts.get(rule, 0) for counts in baseline.values()) for rule in D572B3A}
    assert {rule: count for rule, count in totals.items() if count > D572B3A[rule]} == {}
