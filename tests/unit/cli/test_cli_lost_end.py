"""Commands that read a log to its end, on a log that is proven to have lost it: none passes over that in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.manifest import read_manifest
from tests.support.called import Ran
from tests.support.damage import Cluster, copy_cluster, split, write


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def _cut(cluster: Cluster, form: str) -> Path:
    path = cluster.segment(2)
    if form == "within a batch":
        path.write_bytes(path.read_bytes()[: len(b"".join(split(path)[:-5])) + 38])
    elif form == "between batches":
        write(path, split(path)[:-5])
    else:
        path.write_bytes(b"")
    return path


def test_an_export_says_what_is_lost_and_its_copy_proves_it_still(cluster: Cluster, ran: Ran, tmp_path: Path) -> None:
    path = _cut(cluster, "within a batch")

    status, out, err = ran("log", "export", cluster.node(2), tmp_path / "copy")

    assert status == 1
    assert "proves that it reached" in err
    assert "unfinished" not in out
    assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()
    manifest = read_manifest(tmp_path / "copy")
    assert manifest.proved_end is not None
    assert manifest.proved_end > manifest.end_offset
    assert manifest.cut_tail_bytes == 0
    (found,) = (one for one in check_paths([tmp_path / "copy"]).findings if one.kind == "corrupt_batch")
    assert any(said.startswith("log_cut, ") for said in found.consequences or ())


def test_an_export_of_a_log_cut_between_batches_is_no_whole_one(cluster: Cluster, ran: Ran, tmp_path: Path) -> None:
    _cut(cluster, "between batches")

    status, _, err = ran("log", "export", cluster.node(2), tmp_path / "copy")

    assert status == 1
    assert "proves that it reached" in err
    assert {found.kind for found in check_paths([tmp_path / "copy"]).findings} == {"log_cut"}


@pytest.mark.parametrize("form", ["within a batch", "between batches", "all"])
def test_a_dump_does_not_say_that_nothing_is_missing(form: str, cluster: Cluster, ran: Ran) -> None:
    path = _cut(cluster, form)

    for named in (path, cluster.node(2)):
        status, _, err = ran("log", "dump", named)

        assert status == 1
        assert "proves that it reached" in err
        assert "nothing is missing" not in err


@pytest.mark.parametrize("form", ["within a batch", "between batches"])
def test_no_backup_of_an_older_state_is_made_unasked(form: str, cluster: Cluster, ran: Ran, tmp_path: Path) -> None:
    _cut(cluster, form)
    save = ("snapshot", "save", cluster.node(2), tmp_path / "backup")

    status, _, err = ran(*save)

    assert status == 1
    assert "proves that it reached" in err
    assert not (tmp_path / "backup").exists()
    assert ran(*save, "--at", "60")[0] == 0
    assert (tmp_path / "backup").is_file()


@pytest.mark.parametrize("command", [("log", "hash"), ("log", "timeline"), ("shell",)])
@pytest.mark.parametrize("form", ["within a batch", "between batches"])
def test_what_shows_states_says_that_later_ones_are_lost(
    form: str, command: tuple[str, ...], cluster: Cluster, ran: Ran
) -> None:
    _cut(cluster, form)
    words = ["ls", "/"] if command == ("shell",) else []

    status, _, err = ran(*command, cluster.node(2), *words)

    assert status == 1
    assert "proves that it reached" in err
    status, _, err = ran(*command, cluster.node(1), *words)
    assert (status, err) == (0, "")


def test_a_state_before_the_cut_is_what_it_was(cluster: Cluster, ran: Ran) -> None:
    _cut(cluster, "between batches")

    assert ran("log", "hash", cluster.node(2), "--at", "60")[0] == 0
    status, _, err = ran("shell", cluster.node(2), "--at", "60", "ls", "/")

    assert status == 0
    assert "proves that it reached" in err


@pytest.mark.parametrize("form", ["within a batch", "between batches", "all"])
def test_no_level_is_said_to_read_what_is_lost(form: str, cluster: Cluster, ran: Ran) -> None:
    _cut(cluster, form)

    status, out, err = ran("features", "check", cluster.node(2), "--target", "4.3")

    assert status == 1
    assert "which is not all" in out
    assert "proves that it reached" in err
    assert ran("features", "check", cluster.node(1), "--target", "4.3")[::2] == (0, "")
