"""`kraft recover inspect` of directories some of which cannot be judged: the others are, and each of these is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import CLUSTER, OTHER_CLUSTER, Bench, empty, foreign, last_segment, metadata, with_meta
from tests.support.readers import as_nobody, open_root


def inspected(capsys: pytest.CaptureFixture[str], *paths: Path, status: int = 1) -> str:
    assert run(["recover", "inspect", *map(str, paths)]) == status
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def unreadable(bench: Bench, node: int = 12) -> Path:
    """A log of which one segment is no file any more."""
    log_dir = bench.node("basic", node)
    segment = last_segment(log_dir)
    segment.unlink()
    segment.mkdir()
    return log_dir


def test_each_bad_directory_is_named_and_the_others_are_judged(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = [bench.node("basic", 1), bench.node("basic", 2)]
    bad = [bench.root / "none", empty(bench), bench.file("notes"), unreadable(bench), foreign(bench, 11)]
    said = inspected(capsys, bad[0], sound[0], *bad[1:], sound[1])
    assert "A majority of the voters is here and sound" in said
    left_out = [line for line in said.splitlines() if line.startswith("LEFT OUT: ")]
    assert len(left_out) == len(bad)
    for path, what in zip(
        bad,
        ("does not exist", "holds no metadata log", "is a file", "cannot be read (Is a directory)", "another cluster"),
        strict=True,
    ):
        assert any(str(path) in line and what in line for line in left_out), (path, left_out)
    assert f"  1. Before any repair, fix what keeps {bad[3]} from being read" in said


def test_where_one_may_not_look_the_others_are_judged(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_root() as root:
        bench = Bench(clusters, root)
        sound, closed, half = bench.node("basic", 1), bench.node("basic", 2), bench.node("basic", 3)
        inspected(capsys, sound, status=1)
        closed.chmod(0o000)
        (metadata(half) / "quorum-state").chmod(0o000)
        with as_nobody():
            said = inspected(capsys, sound, closed, half)
        closed.chmod(0o755)
    for path in (closed, metadata(half) / "quorum-state"):
        assert f"LEFT OUT: {path} cannot be read (Permission denied): run this as the user that the node" in said
    assert f"  1. Before any repair, fix what keeps {closed}, {half} from being read" in said
    assert f"kraft recover standalone --dir {sound}" in said
    assert "nothing is changed. Until step 1 is done, this is refused:" in " ".join(said.split())


def test_a_sound_majority_alone_is_still_no_finding(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    said = inspected(capsys, bench.node("basic", 1), bench.node("basic", 2), status=0)
    assert "LEFT OUT" not in said


def test_rubbish_in_a_log_and_beside_it_is_judged_like_any_other_damage(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    rubbish = with_meta(bench, "\x00\xff rubbish\n")
    for path in metadata(rubbish).iterdir():
        path.write_bytes(b"\xde\xad" * 100)
    said = inspected(capsys, rubbish, bench.node("basic", 2))
    assert f"on {rubbish}\n      not possible: " in said
    assert f"kraft recover standalone --dir {bench.node('basic', 2)}" in said


def test_the_cluster_of_most_copies_is_judged_and_else_that_of_the_first(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = [foreign(bench, node) for node in (2, 3)]
    own = bench.node("basic", 1)
    said = inspected(capsys, own, *theirs, status=1)
    assert f"Cluster {OTHER_CLUSTER}, best copy first" in said
    assert f"LEFT OUT: node 1 ({own}) is of another cluster, {CLUSTER}, not of {OTHER_CLUSTER}" in said
    said = inspected(capsys, own, theirs[0])
    assert f"Cluster {CLUSTER}, best copy first" in said


def test_programs_are_told_which_were_left_out(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    copies: Sequence[Path] = (bench.node("basic", 1), bench.node("basic", 2), bench.root / "none")
    assert run(["recover", "inspect", *map(str, copies), "-o", "json"]) == 1
    seen = json.loads(capsys.readouterr().out)
    assert seen["is_whole"]
    [left_out] = seen["left_out"]
    assert left_out["path"] == str(copies[2])
    assert "does not exist" in left_out["problem"]


def test_where_none_can_be_judged_an_error_says_why_of_each(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", "inspect", str(bench.root / "none"), str(bench.file("notes"))]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kraft: none of these directories can be judged: ")
    assert "does not exist" in said.err
    assert "is a file" in said.err


def test_the_table_tells_cluster_and_kraft_version_of_each(
    bench: Bench, clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nameless = bench.root / "copy" / "__cluster_metadata-0"
    shutil.copytree(metadata(bench.node("basic", 11)), nameless)
    header, first, *_ = rows = inspected(capsys, bench.node("basic", 1), nameless).splitlines()
    columns = header.split()
    assert (columns[8], columns[9]) == ("KraftVersion", "ClusterId")
    assert first.split()[8:10] == ["1", CLUSTER]
    assert rows[2].split()[8:10] == ["1", "-"]
    static = clusters / "static-3.9" / "node-2" / "data"
    assert inspected(capsys, static).splitlines()[1].split()[8] == "0"


def test_another_clusters_log_under_this_clusters_id_is_left_out(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule and the sentence are those of `kraft check`: no copy of this cluster is accused for it."""
    sound, other = [bench.node("basic", node) for node in (1, 3)], bench.node("basic", 2)
    shutil.rmtree(metadata(other))
    shutil.copytree(metadata(bench.node("static-3.9", 2)), metadata(other))

    said = inspected(capsys, *sound, other)

    (left_out,) = [line for line in said.splitlines() if line.startswith("LEFT OUT: ")]
    assert left_out == (
        f"LEFT OUT: node 2 ({other}): not one batch that this log begins with is that of node 1 and node 3: it is "
        "another cluster's, and nothing here is judged by it: find out how it came here; do not start the node."
    )
    assert "CONFLICT" not in said
    assert "not possible" not in said
    assert "A majority of the voters is here and sound (2 of 3" in said
