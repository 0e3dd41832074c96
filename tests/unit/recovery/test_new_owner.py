"""The owner of a directory that `from-broker` makes can write it, whatever the modes of the copy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import CLUSTER, HERE, NO_WAIT, Bench, formatted
from tests.support.readers import NOBODY, as_nobody, open_root

KAFKA, OTHER = 12345, 12346
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


def read_only(bench: Bench, uid: int | None = None) -> Path:
    """Return a broker's copy from a backup: no user may write any file of it."""
    broker = bench.node("basic", 11)
    for path in (*broker.rglob("*"), broker):
        path.chmod(0o555 if path.is_dir() else 0o444)
        if uid is not None:
            os.chown(path, uid, uid)
    return broker


def made_from(broker: Path, target: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    words = ["recover", "from-broker", "--broker-dir", str(broker), "--dir", str(target), "--node-id", "1", *HERE]
    assert run([*words, "--missing", "rest", *more, *NO_WAIT]) == 0
    return capsys.readouterr().out


def below(path: Path) -> list[Path]:
    return [path, *path.rglob("*")]


def test_a_copy_that_is_kept_read_only_gives_a_directory_that_can_be_written(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, made = read_only(Bench(clusters, tmp_path)), tmp_path / "new" / "controller"
    made_from(broker, made, capsys, "--apply")
    modes = {path.stat().st_mode & 0o777 for path in below(made) if path.is_file() and path.name != ".lock"}
    assert modes == {0o644}
    assert {path.stat().st_mode & 0o777 for path in (made.parent, *below(made)) if path.is_dir()} == {0o755}


def test_a_user_without_rights_makes_one_for_itself(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copy belongs to another user. The node runs as this user, and can write all of the new directory."""
    with open_root() as root:
        broker, place = read_only(Bench(clusters, root)), root / "place"
        place.mkdir(mode=0o777)
        place.chmod(0o777)
        made_from(broker, root / "unused", capsys)
        with as_nobody():
            said = made_from(broker, place / "new", capsys, "--apply")
            assert all(os.access(path, os.W_OK, effective_ids=True) for path in below(place / "new"))
        uid = (place / "new").stat().st_uid
        assert uid == (NOBODY if os.geteuid() == 0 else os.geteuid())
        assert "its node must run as the same user" in said
        for path in below(broker):
            path.chmod(0o755)


@only_root
def test_root_gives_it_to_whom_the_directory_above_belongs_and_says_so(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, above = read_only(Bench(clusters, tmp_path), uid=OTHER), tmp_path / "data"
    above.mkdir()
    os.chown(above, KAFKA, KAFKA)
    made = above / "controllers" / "one"
    says = f"{made} belongs to user {KAFKA}, as {above} does"
    assert says in made_from(broker, made, capsys)
    assert not made.exists()
    assert says in made_from(broker, made, capsys, "--apply")
    everything = [path for top in (above / "controllers", Path(f"{made}.recovery")) for path in below(top)]
    assert {(path.stat().st_uid, path.stat().st_gid) for path in everything} == {(KAFKA, KAFKA)}


@only_root
def test_below_a_directory_of_roots_it_goes_to_the_copys_owner(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, made = read_only(Bench(clusters, tmp_path), uid=OTHER), tmp_path / "new"
    assert f"{made} belongs to user {OTHER}, as {broker} does" in made_from(broker, made, capsys, "--apply")
    assert {path.stat().st_uid for path in below(made)} == {OTHER}


@only_root
def test_a_formatted_directory_stays_its_owners(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(clusters, tmp_path)
    broker, made = read_only(bench, uid=OTHER), formatted(bench, CLUSTER, 1)
    for path in below(made):
        os.chown(path, KAFKA, KAFKA)
    said = made_from(broker, made, capsys, "--apply")
    assert f"{made} belongs to user {KAFKA}, as {made}/meta.properties does" in said
    assert {path.stat().st_uid for path in below(made)} == {KAFKA}


@only_root
def test_where_all_is_roots_it_warns(clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broker, made = read_only(Bench(clusters, tmp_path), uid=0), tmp_path / "new"
    said = made_from(broker, made, capsys)
    assert f"WARNING: {made} belongs to user root, as {tmp_path} does: if its node runs as another user" in said


@only_root
def test_a_group_that_is_not_the_copys_may_no_more_than_all_others(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, above = read_only(Bench(clusters, tmp_path), uid=OTHER), tmp_path / "data"
    for path in below(broker):
        path.chmod(0o550 if path.is_dir() else 0o440)
    above.mkdir()
    os.chown(above, KAFKA, KAFKA)
    made_from(broker, above / "one", capsys, "--apply")
    files = [path for path in below(above / "one") if path.name != ".lock"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o700, 0o600}
