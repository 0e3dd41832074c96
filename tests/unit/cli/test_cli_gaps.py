"""Commands that read a log, on one from whose middle records are gone: each names the missing offsets, and fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.format.batch import iter_batches
from metadata_log.tools.times import time_text
from tests.support.called import Ran
from tests.support.damage import Cluster, copy_cluster, split, write
from tests.support.one_fault import flipped_at

_LOST = "offsets 207 to 293 are missing"


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Segments of node 11 begin at offsets 98, 207 and 294, its checkpoints end at 173, 255 and 310."""
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def _segments(cluster: Cluster, node: int) -> list[Path]:
    return sorted(cluster.metadata(node).glob("*.log"))


@pytest.fixture
def lacking(cluster: Cluster) -> Path:
    """The directory of node 11, whose middle segment is gone."""
    _segments(cluster, 11)[1].unlink()
    return cluster.node(11)


@pytest.fixture
def holed(cluster: Cluster) -> Path:
    """The directory of node 1, from whose last segment one batch is cut out."""
    path = _segments(cluster, 1)[-1]
    batches = split(path)
    write(path, [*batches[:5], *batches[6:]])
    return cluster.node(1)


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "table"])
def test_a_dump_names_the_missing_offsets(form: str, lacking: Path, holed: Path, ran: Ran) -> None:
    status, _, err = ran("log", "dump", lacking, "-o", form)

    assert status == 1
    assert err.count(_LOST) == 1
    status, _, err = ran("log", "dump", holed, "-o", form)
    assert status == 1
    assert "offset 302 is missing" in err


@pytest.mark.parametrize("bit", [7, 3])
def test_a_batch_at_a_wrong_offset_is_named(bit: int, clusters: Path, tmp_path: Path, ran: Ran) -> None:
    """The batch at offset 45 says 173, or 37: the one behind it goes on from 46."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(1)
    bases = [header.base_offset for _, header in iter_batches(path.read_bytes())]
    flipped_at(path, bases.index(45), 7, bit)

    for command in (["log", "dump"], ["log", "hash"], ["log", "timeline"]):
        status, _, err = ran(*command, cluster.node(1))
        assert status == 1
        assert "offset 45 is missing" in err or "the batch before it ended at 45" in err


@pytest.mark.parametrize(("at", "shown"), [("250", 207), ("294", 255)])
def test_a_hash_names_the_gap_that_hides_its_state(at: str, shown: int, lacking: Path, ran: Ran) -> None:
    status, _, err = ran("log", "hash", lacking, "--at", at)

    assert status == 1
    assert f"{_LOST}, so that no state behind offset {shown} is known" in err
    assert ran("log", "hash", lacking, "--at", "310")[0::2] == (0, "")
    assert ran("log", "hash", lacking)[0::2] == (0, "")


def test_a_dump_of_single_segments_names_what_is_missing_before_them(cluster: Cluster, lacking: Path, ran: Ran) -> None:
    first, last = _segments(cluster, 11)

    assert ran("log", "dump", first)[0::2] == (0, "")
    status, _, err = ran("log", "dump", last)
    assert status == 1
    assert _LOST in err


def test_a_trimmed_log_lacks_nothing(cluster: Cluster, ran: Ran) -> None:
    for path in _segments(cluster, 11)[:2]:
        path.unlink()

    assert ran("log", "dump", cluster.node(11))[0::2] == (0, "")


@pytest.mark.parametrize(("at", "shown"), [("250", 207), ("280", 255)])
def test_a_state_that_a_gap_hides_is_not_shown_in_silence(
    at: str, shown: int, lacking: Path, ran: Ran, tmp_path: Path
) -> None:
    status, _, err = ran("shell", lacking, "--at", at, "ls", "/")

    assert status == 1
    assert f"{_LOST}, so that no state behind offset {shown} is known" in err
    assert "up to that of the checkpoint at offset" in err
    assert ran("shell", lacking, "--at", str(shown), "ls", "/")[0::2] == (0, "")
    status, _, err = ran("snapshot", "save", lacking, tmp_path / "backup", "--at", at)
    assert status == 1
    assert _LOST in err


def test_a_time_within_a_gap_shows_no_state_in_silence(lacking: Path, ran: Ran) -> None:
    batches = [header for _, header in iter_batches(sorted(lacking.glob("data/*/*.log"))[0].read_bytes())]
    last = max(header.max_timestamp for header in batches)

    status, _, err = ran("shell", lacking, "--at", time_text(last + 1), "ls", "/")

    assert status == 1
    assert _LOST in err
    assert ran("shell", lacking, "--at", time_text(batches[-3].max_timestamp), "ls", "/")[0::2] == (0, "")


def test_commands_of_the_shell_name_a_gap(lacking: Path, ran: Ran) -> None:
    status, out, err = ran("shell", lacking, "-c", "at 250")

    assert status == 1
    assert _LOST in out
    assert _LOST in err
    assert ran("shell", lacking, "-c", "at 250", "-c", "at end", "ls", "/")[0] == 0
    assert ran("shell", lacking, "ls", "/")[0::2] == (0, "")


def test_features_check_names_what_it_could_not_judge(lacking: Path, ran: Ran) -> None:
    status, out, err = ran("features", "check", lacking, "--target", "4.4")

    assert status == 1
    assert f"{_LOST}, and no record there is judged" in err
    assert "every record that is seen here, which is not all" in out


@pytest.mark.parametrize("redacted", [(), ("--redact", "-o", "jsonl")])
def test_an_export_names_the_missing_offsets(
    redacted: tuple[str, ...], lacking: Path, ran: Ran, tmp_path: Path
) -> None:
    status, _, err = ran("log", "export", lacking, tmp_path / "copy", *redacted)

    assert status == 1
    assert _LOST in err


def test_a_timeline_concludes_nothing_from_what_is_missing(lacking: Path, ran: Ran, tmp_path: Path) -> None:
    status, out, err = ran("log", "timeline", lacking, "--picture", tmp_path / "picture.svg", "-o", "json")

    assert status == 1
    assert _LOST in err
    assert f"{_LOST}: what happened there is not known" in out
    assert "unused epochs" not in out
    assert f"{_LOST}: what happened there" in (tmp_path / "picture.svg").read_text()


def test_a_timeline_has_from_another_replica_what_one_lacks(cluster: Cluster, lacking: Path, ran: Ran) -> None:
    status, out, _ = ran("log", "timeline", lacking, cluster.node(12))

    assert status == 1
    assert "what happened there" not in out
