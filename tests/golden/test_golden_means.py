"""The means of the goldens: no text depends on the machine or the place, and an archive depends on its texts alone."""

from __future__ import annotations

import re
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tests.golden.archive import difference, packed, remedy, unpacked
from tests.golden.command import PLACE, run_command

_STANDALONE = ["recover", "standalone", "--dir", "basic/node-1/data", "--missing", "rest"]


def test_a_text_does_not_depend_on_the_place(
    clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = run_command(_STANDALONE, clusters)
    other = tmp_path / "a much longer name than the first one" / "clusters"
    shutil.copytree(clusters / "basic", other / "basic")
    for name, value in {"COLUMNS": "41", "HOME": str(tmp_path), "USER": "another", "SUDO_USER": "one"}.items():
        monkeypatch.setenv(name, value)

    assert run_command(_STANDALONE, other) == text
    assert f"In {PLACE}/basic/node-1/data:" in text
    assert text.startswith("exit status 0\n--- standard output\nWould do: kraft recover standalone\n")
    assert capfd.readouterr() == ("", "")


def test_a_failure_is_part_of_the_text(tmp_path: Path) -> None:
    words = list(sys.argv)

    assert run_command(["check", "nowhere"], tmp_path) == (
        "exit status 2\n--- standard output\n--- standard error\nkraft: nowhere does not exist\n"
    )
    assert "Error: No such command 'frobnicate'." in run_command(["log", "frobnicate"], tmp_path)
    assert sys.argv == words


def test_no_port_is_probed(clusters: Path) -> None:
    """The listener plays a controller: had a connection come in, the command would have been refused."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        text = run_command([*_STANDALONE, "--bootstrap-controller", f"127.0.0.1:{port}"], clusters)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()

    assert re.search(rf"127\.0\.0\.1:{port}: .*Connection refused", text)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        pass  # the network is as it was


def test_an_archive_depends_on_its_texts_alone() -> None:
    texts = {"b/one": "first\n", "a": "żółw\n", "c": ""}
    turned = dict(reversed(texts.items()))

    assert unpacked(packed(texts)) == texts
    assert packed(texts) == packed(turned)


def test_a_difference_is_shown_as_a_diff() -> None:
    shown = difference("check", "basic", "one\ntwo\n", "one\n2\n")

    assert shown is not None
    assert shown.split("\n")[3:7] == [" one", "-two", "+2", " "]
    assert difference("check", "basic", "same", "same") is None
    assert "has no golden" in (difference("check", "basic", None, "new") or "")
    assert "belongs to no case" in (difference("check", "basic", "old", None) or "")


def test_a_remedy_names_each_archive_once() -> None:
    assert remedy(["log-dump", "check", "check"]).endswith("--write --only check --only log-dump")


def test_a_difference_in_json_is_shown_value_by_value() -> None:
    shown = difference("check", "basic", '[{"a": 1, "b": 2}]\n', '[{"a": 1, "b": 3}]\n')

    assert shown is not None
    assert '-  "b": 2' in shown
    assert '+  "b": 3' in shown
    assert '-  "a": 1' not in shown
    spaced = difference("check", "basic", '{"a": 1}\n', '{"a":1}\n')
    assert spaced is not None
    assert '-{"a": 1}' in spaced
