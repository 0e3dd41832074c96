"""Texts of a log that a terminal would obey, in every field: no command shows one of them as it is."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from metadata_log.records import FeatureLevelRecord
from quorum.cli.main import run
from quorum.plain_text import for_terminal, on_one_line, plain
from tests.support.damage import append
from tests.support.hostile_logs import HOSTILE, METADATA, UNSEEN, hostile_node
from tests.support.on_a_terminal import on_a_terminal

SHOWN = {*map(chr, UNSEEN)} - {"\n", "\t"}


def _commands(node: str, other: str, place: Path) -> list[list[str]]:
    """Every command over a log, in every form for people."""
    backup = str(place / "backup")
    newer = ["log verify", "check", "shell -c tree", "log hash", "log timeline", "recover inspect"]
    return [
        ["log", "dump", node],
        *(["log", "dump", node, "-o", form] for form in ("table", "csv", "json", "jsonl")),
        ["log", "verify", node],
        ["log", "verify", "--replay", node],
        ["log", "diff", node, other],
        ["log", "hash", node],
        ["log", "timeline", node],
        *(["log", "timeline", node, "-o", form] for form in ("json", "jsonl")),
        ["log", "export", node, str(place / "export")],
        ["log", "export", node, str(place / "export-json"), "-o", "json"],
        ["check", node],
        ["check", node, other, "-o", "json"],
        ["shell", node, "tree", "/"],
        ["shell", node, "tree", "/", "-o", "json"],
        ["shell", node, "find", "/"],
        ["shell", node, "ls", "/topics/by-name"],
        ["shell", node, "ls", "/image/configs/*"],
        ["shell", node, "cat", "/image/configs/*/*"],
        ["shell", node, "history", "/image/configs"],
        ["shell", node, "diff", "start", "end"],
        ["shell", node, "cat", f"/nothing/{HOSTILE.replace(chr(0), '')}"],
        ["snapshot", "save", node, backup],
        ["snapshot", "status", backup],
        ["snapshot", "status", backup, "-o", "json"],
        ["snapshot", "restore", backup, str(place / "restored"), "--node-id", "1"],
        ["storage", "info", node],
        ["storage", "audit", node, "--image", node],
        ["features", "check", node, "--target", "3.9"],
        ["recover", "inspect", node, other],
        ["recover", "inspect", node, "-o", "json"],
        ["recover", "verify", node],
        ["recover", "standalone", "--dir", node, "--missing", "2,3"],
        *(
            [*words.split()[:1], other, *words.split()[1:]] if words.startswith("shell") else [*words.split(), other]
            for words in newer
        ),
        ["snapshot", "save", other, str(place / "newer")],
    ]


def test_no_command_lets_a_terminal_obey_a_log(tmp_path: Path) -> None:
    """The second log has a feature of such a name, too: commands speak of what they do not know."""
    node, other = hostile_node(tmp_path / "node"), hostile_node(tmp_path / "other")
    append(other / METADATA / "00000000000000000000.log", [FeatureLevelRecord(name="f" + HOSTILE, feature_level=1)])
    commands = _commands(str(node), str(other), tmp_path)
    said = on_a_terminal(commands)
    seen = 0
    for words, output in zip(commands, said, strict=True):
        text = output.decode("utf-8", "surrogateescape")
        assert not SHOWN & {*text}, (words, text[:2000])
        assert "Traceback" not in text, (words, text)
        seen += "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m" in text or "\\u001b]0;owned" in text
    assert seen > len(commands) // 3


def test_no_command_lets_a_terminal_obey_a_word_of_the_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    """A script passes names of others on: as a path, an option, a value, one word too many, a command."""
    word = "w" + HOSTILE.replace("\0", "")
    commands = [
        ["check", f"--{word}"], ["log", "dump", "x", f"--{word}"], ["log", f"--{word}"], [f"--{word}"], [word],
        ["log", word], ["snapshot", "status", "x", word], ["snapshot", "save", "x", "y", "--at", word],
        ["log", "dump", "x", "-o", word], ["check", word], ["recover", "undo", "--dir", word], ["log", "dump", word],
        ["features", "check", "x", "--target", word], ["shell", word], ["topics", "list", word],
    ]  # fmt: skip
    for words in commands:
        assert run(words) in (1, 2), words
        said = capfd.readouterr().err
        assert not SHOWN & {*said}, (words, said)
        assert "\\x1b" in said, (words, said)


def test_a_name_cannot_pass_for_lines_of_the_shell_or_of_a_backup(tmp_path: Path) -> None:
    """The end of a line in a name would let it say anything in the next one."""
    node, backup = str(hostile_node(tmp_path / "node")), str(tmp_path / "backup")
    tree, _, status = on_a_terminal(
        [["shell", node, "ls", "/topics/by-name"], ["snapshot", "save", node, backup], ["snapshot", "status", backup]]
    )
    assert all(b"\\x09\\x0a\\x0b" in line for line in tree.splitlines()), tree
    assert all(b":" in line for line in status.splitlines()), status


def test_a_coloured_report_shows_no_text_of_a_log_as_it_is() -> None:
    """The verdict of `analyze` and `quorum watch` are drawn, with colours, on a terminal alone."""
    draw = (
        "import sys; from quorum.cli.streams import Terminal; sys.stdout = Terminal(sys.stdout); "
        "from quorum.cli.output import terminal_console; from rich.text import Text; from rich.table import Table; "
        "from tests.support.hostile_logs import HOSTILE; table = Table(HOSTILE); table.add_row(Text(HOSTILE, 'red')); "
        "console = terminal_console(force_terminal=True, color_system='standard'); console.print(table)"
    )
    done = subprocess.run([sys.executable, "-c", draw], capture_output=True, check=True)
    text = done.stdout.decode()
    assert "\x1b[31m" in text
    assert not (SHOWN - {"\x1b"}) & {*text}
    assert {part[0] for part in text.split("\x1b")[1:]} == {"["}
    assert "\x1b[2J" not in text


def test_output_that_is_no_terminal_stays_as_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    node = hostile_node(tmp_path / "node")
    assert run(["shell", str(node), "ls", "/topics/by-name"]) == 0
    assert HOSTILE in capfd.readouterr().out


def test_what_is_escaped_and_what_is_not() -> None:
    for code in UNSEEN:
        assert on_one_line(f"a{chr(code)}b").isprintable()
        kept = chr(code) in "\n\t"
        assert (plain(f"é{chr(code)}") == f"é{chr(code)}") == kept
        assert (for_terminal(chr(code)) == chr(code)) == kept
    assert on_one_line("\x1b\u202e\U000e0041") == "\\x1b\\u202e\\U000e0041"
    assert for_terminal("\udc9b\udcff") == "\\x9b\udcff"
    for text in ("→ größer, 日本語, 한국어, עברית, 🎉", io.__doc__ or ""):
        assert plain(text) == text
