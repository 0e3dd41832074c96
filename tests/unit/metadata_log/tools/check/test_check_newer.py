"""Logs of a later release: check judges what it knows, and says the rest in one note."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.format.batch import parse_header
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.verify_log import verify_log
from tests.support.damage import copy_cluster, split, with_values, write
from tests.support.newer_logs import NEWER_LOGS, NewerLog, metadata_directories, plant_newer
from tests.support.one_fault import segments_of

CASES = pytest.mark.parametrize("case", NEWER_LOGS, ids=lambda case: case.name)


@CASES
def test_all_that_is_not_known_is_one_note(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    cluster = plant_newer(case, clusters, tmp_path / "scene")

    report = check_paths(sorted(cluster.root.glob("node-*")))

    notes = [found for found in report.findings if found.kind == "newer_release"]
    assert [(found.kind, found.meaning) for found in report.findings if found.counts] == []
    assert len(notes) == 1
    assert notes[0].meaning.startswith("written by a release after 4.4")
    assert case.says in notes[0].meaning
    assert notes[0].severity is Severity.NOTE


@CASES
@pytest.mark.parametrize("depth", [Depth.RECORDS, Depth.REPLAY])
def test_one_log_is_sound_at_each_depth(case: NewerLog, depth: Depth, clusters: Path, tmp_path: Path) -> None:
    cluster = plant_newer(case, clusters, tmp_path / "scene")
    (node,) = find_sources([cluster.node(1)]).nodes

    report = verify_log(node, depth=depth)

    assert [found.kind for found in report.findings if found.counts] == []
    if case.hides_metadata and depth is Depth.REPLAY:
        assert report.image is None


@CASES
def test_damage_beside_it_is_still_found(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    cluster = plant_newer(case, clusters, tmp_path / "scene")
    segment = max(metadata_directories(cluster)[1].glob("*.log"))
    batches = split(segment)
    batches[3] = batches[3][:-1] + bytes([batches[3][-1] ^ 1])
    write(segment, batches)

    report = check_paths(sorted(cluster.root.glob("node-*")))

    assert "corrupt_batch" in {found.kind for found in report.findings if found.counts}


def test_replicas_that_part_are_found_all_the_same(clusters: Path, tmp_path: Path) -> None:
    case = next(one for one in NEWER_LOGS if one.name == "record_type_30")
    cluster = plant_newer(case, clusters, tmp_path / "scene")
    segment = max(metadata_directories(cluster)[1].glob("*.log"))
    batches = split(segment)
    batches[-1] = with_values(batches[-1], [b"\x01\x1e\x00\x05other\x00"])
    write(segment, batches)

    kinds = {found.kind for found in check_paths(sorted(cluster.root.glob("node-*"))).findings}

    assert kinds >= {"newer_release", "log_mismatch"}


def test_an_image_of_a_log_that_reaches_as_far_lacks_no_records(clusters: Path, tmp_path: Path) -> None:
    """The brokers' logs have a record of a later release before the offset at which the voters' checkpoint ends."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    for node in (11, 12):
        for path in cluster.metadata(node).glob("*.checkpoint"):
            if int(path.name[:20]) > 198:
                path.unlink()
        for segment in segments_of(cluster.metadata(node)):
            batches = split(segment)
            headers = [parse_header(batch) for batch in batches]
            for number, header in enumerate(headers):
                if header.base_offset == 198:
                    batches[number] = with_values(batches[number], [b"\x01\x1e\x00\x05other\x00"])
            write(segment, batches)

    report = check_paths([cluster.root])

    assert [found.kind for found in report.findings] == ["newer_release"]
