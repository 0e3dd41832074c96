"""The shell: each command on logs of real clusters, Kafka's own tree, time travel, and mistakes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from metadata_log.image import MetadataImage
from metadata_log.tools.read.history import HistoryError, open_history
from metadata_log.tools.shell.globs import expanded
from metadata_log.tools.shell.names import changed_fields
from metadata_log.tools.shell.shell import Exit, Shell, ShellError, ShellUseError
from metadata_log.tools.shell.view import view_at
from tests.support.image_logs import FIXTURES, log_directories


def _log(node: str) -> Path:
    return FIXTURES / node / "data" / "__cluster_metadata-0"


@pytest.fixture
def shell() -> Shell:
    return Shell(open_history(_log("basic/node-1")), "1.0")


def _say(shell: Shell, line: str) -> list[str]:
    return list(shell.run(line))


def test_its_tree_is_kafkas(shell: Shell) -> None:
    printed = FIXTURES / "basic" / "oracle" / "shell" / "node-1" / "00000000000000000000.log.txt.gz"
    expected = gzip.decompress(printed.read_bytes()).decode().partition("local:")[0].splitlines()
    assert ["image:", *("  " + line for line in _say(shell, "tree /image"))] == expected


@pytest.mark.parametrize("directory", log_directories(), ids=str)
def test_the_lazy_view_is_the_whole_image_at_every_checkpoint_and_between(directory: Path) -> None:
    history = open_history(directory)
    last = history.state_at()
    ends = {int(end.offset) for end, _ in history.checkpoints} | {last.end, (history.start_offset + last.end) // 2}
    for end in ends:
        try:
            state = history.state_at(end)
        except HistoryError:
            continue
        view = view_at(history, end)
        assert view.whole == state.image
        assert set(view.topics) == set(state.image.topics.by_name)
        for topic in state.image.topics.by_id.values():
            assert view.named(topic.name) == topic == view.topic(topic.topic_id)


def test_ls_cd_pwd_cat_find(shell: Shell) -> None:
    assert {"image", "local", "topics", "quorum"} <= set(_say(shell, "ls /"))
    name = _say(shell, "ls /topics/by-name")[0]
    assert _say(shell, f"cd /image/topics/byName/{name}") == []
    assert _say(shell, "pwd") == [f"/image/topics/byName/{name}"]
    assert _say(shell, "cat name") == [name]
    [topic_id] = _say(shell, "cat id")
    assert _say(shell, f"tree ../../byId/{topic_id}") == _say(shell, "tree .")
    assert _say(shell, "find /quorum/voters") == [f"/quorum/voters{end}" for end in ("", "/1", "/2", "/3")]
    assert _say(shell, "find /topics/by-name orders*") == ["/topics/by-name/orders-3"]


def test_patterns(shell: Shell) -> None:
    names = _say(shell, "ls /topics/by-name")
    ids = [_say(shell, f"cat /topics/by-name/{name}/id")[0] for name in names]
    assert len(names) > 1
    assert _say(shell, "cat /topics/by-name/*/id") == ids
    assert _say(shell, "cat /topics/by-n?me/[a-z]*/id") == ids
    assert _say(shell, "ls /topics/*") == ["/topics/by-id:", *sorted(ids), "/topics/by-name:", *names]
    assert _say(shell, f"cat /image/topics/byName/{{{names[0]},{names[1]}}}/name") == names[:2]
    assert _say(shell, "find /quorum/voters/[12]") == ["/quorum/voters/1", "/quorum/voters/2"]
    _say(shell, "cd /topics/by-nam*")
    assert _say(shell, "pwd") == ["/topics/by-name"]
    assert _say(shell, "cat */../orders-3/name") == ["orders-3"] * len(names)
    for line in ("ls /nothing*", "cat /topics/*/orders-3/name/x*"):
        with pytest.raises(ShellError, match="nothing fits"):
            _say(shell, line)
    with pytest.raises(ShellUseError, match="fits 2 paths"):
        _say(shell, "cd /topics/*")


def test_a_name_that_looks_like_a_pattern_is_that_name() -> None:
    root = {"users": {"*": {"rate": "7"}, "ann": {"rate": "9"}}}
    assert expanded(root, "/users/*/rate") == ["/users/*/rate"]
    assert expanded(root, "users/?*/rate") == ["users/*/rate", "users/ann/rate"]


def test_travel(shell: Shell) -> None:
    now = _say(shell, "at")
    assert _say(shell, "at 60")[-1].startswith("offset 60, epoch 1, 2026-")
    then = _say(shell, "at")[0].rpartition(", ")[2]
    before = _say(shell, "tree /image/topics")
    assert _say(shell, "at end") == now
    assert _say(shell, "tree /image/topics") != before
    _say(shell, f"at {then}")
    assert _say(shell, "tree /image/topics") == before
    assert "no state ends at offset 4" in _say(shell, "at 4")[0]


def test_diff_and_history_name_what_changed(shell: Shell) -> None:
    lines = _say(shell, "diff 60 end")
    assert lines[0].startswith("offset 60 (-) and offset ")
    assert any(line.startswith("- /image/configs/TOPIC:orders-3/retention.ms: ") for line in lines)
    assert any(line.startswith("+ /image/topics/byId/") and "(orders-3)/4: " in line for line in lines)
    assert _say(shell, "diff 60 60") == ["offset 60 (-) and offset 60 (+)"]
    history = _say(shell, "history /topics/by-name/orders-3/id")
    assert [line.rpartition(": ")[2] for line in history if not line.startswith(" ")] == ["created"]


def test_a_changed_partition_is_shown_by_its_fields(shell: Shell) -> None:
    lines = _say(shell, "diff start end") + _say(shell, "history /topics/by-name/orders-3")
    lines += [line for end in range(20, 120) for line in _say(shell, f"diff {end} {end + 1}")]

    assert not [line for line in lines if "Registration(" in line]
    changed = [line for line in lines if line.startswith("* /image/topics/")]
    assert changed
    assert all("→" in line and "replicas" not in line for line in changed)
    assert any(line.lstrip().startswith("+ /topics/by-name/orders-3/0: replicas [") for line in lines)


def test_fields_are_parted_outside_brackets_and_quotes() -> None:
    before = "PartitionRegistration(replicas=[11, 12], isr=[11, 12], leader=11)"
    after = "PartitionRegistration(replicas=[11, 12], isr=[12], leader=12)"
    assert changed_fields(before, after) == "isr [11,12]→[12], leader 11→12"

    broker = "BrokerRegistration(id=1, listeners=[Endpoint(listenerName='A, b=(', port=1)], fenced={})"
    assert changed_fields(broker.format("true"), broker.format("false")) == "fenced true→false"
    assert changed_fields("12", "13") is None
    assert changed_fields(before, broker) is None


def test_a_diff_within_a_batch_is_of_the_whole_batch(shell: Shell) -> None:
    """The batch of offsets 39 to 44 makes a topic with its partitions and configs."""
    whole = _say(shell, "diff 39 45")
    assert whole[0] == "offset 39 (-) and offset 45 (+)"
    assert len(whole) > 1
    note = "; no state ends at {}: states end where a batch does"
    assert _say(shell, "diff 41 42") == [whole[0] + note.format("41 and 42"), *whole[1:]]
    assert _say(shell, "diff 39 40") == [whole[0] + note.format("40"), *whole[1:]]
    back = _say(shell, "diff 42 41")
    assert back[0] == "offset 45 (-) and offset 39 (+)" + note.format("42 and 41")
    assert sorted(line[2:] for line in back[1:]) == sorted(line[2:] for line in whole[1:])
    assert _say(shell, "diff 41 41") == ["offset 39 (-) and offset 39 (+)" + note.format("41 and 41")]
    assert _say(shell, "diff 95 500") == ["offset 95 (-) and offset 95 (+)" + note.format("500")]


def test_a_deleted_and_recreated_topic_has_its_whole_past(shell: Shell) -> None:
    events = [line.rpartition(": ")[2] for line in _say(shell, "history /topics/by-name/payments-73/id")]
    assert "created" in events


def test_help_names_every_command(shell: Shell) -> None:
    said = "\n".join(_say(shell, "help"))
    for name in ("at", "cat", "cd", "diff", "find", "hash", "history", "ls", "man", "pwd", "tree", "exit"):
        assert f"\n{name}" in f"\n{said}"
    assert _say(shell, "man ls")[0].startswith("ls [PATH...]")
    with pytest.raises(Exit):
        _say(shell, "exit")


def test_completion(shell: Shell) -> None:
    assert shell.complete("hi") == ["history "]
    assert shell.complete("ls /ima") == ["/image/"]
    assert shell.complete("cat /topics/by-name/ord") == ["/topics/by-name/orders-3/"]
    assert shell.complete("cat /topics/by-name/orders-3/i") == ["/topics/by-name/orders-3/id "]
    assert shell.complete("cat /nowhere/") == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("dance", "there is no command 'dance'"),
        ("cat", "cat takes paths"),
        ("cat /image", "is a directory"),
        ("cat /image/nothing", "there is no 'nothing' in /image"),
        ("cd /image/features/metadataVersion", "is a file"),
        ("ls /image/features/metadataVersion/x", "is a file, not a directory"),
        ("at yesterday", "neither an offset"),
        ("diff 1", "diff takes two"),
        ("history /topics/by-name/never", "there never was anything"),
        ("ls 'open", "No closing quotation"),
        ("find a b c", "a path and a pattern"),
        ("hash me", "hash takes nothing"),
        ("help dance", "there is no command"),
    ],
)
def test_mistakes_are_told_in_a_sentence(shell: Shell, line: str, says: str) -> None:
    with pytest.raises(ShellError, match=says):
        _say(shell, line)


def test_what_the_files_no_longer_hold_is_said() -> None:
    shell = Shell(open_history(_log("failovers/node-1")), "1.0")
    with pytest.raises(HistoryError, match="there is no state at 1"):
        _say(shell, "at 1")


def test_an_empty_log_has_an_empty_tree(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").touch()
    view = view_at(open_history(tmp_path))
    assert view.whole == MetadataImage.empty()
