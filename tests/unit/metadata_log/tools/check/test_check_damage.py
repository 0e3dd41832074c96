"""Every kind of planted damage is named at its file and offset, and nothing else is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import KINDS, Finding
from tests.support.all_damage import ALL_DAMAGE
from tests.support.damage import Damage, Planted, append, copy_cluster
from tests.support.damage_access import SOUND_RECORDS
from tests.support.damage_records import LEADER
from tests.support.damage_values import level_too_low


def _is(found: Finding, planted: Planted) -> bool:
    return (
        found.kind == planted.kind
        and found.node_id == planted.node_id
        and found.file == str(planted.file)
        and (planted.offset is None or found.offset == planted.offset)
        and (planted.position is None or found.position == planted.position)
    )


def _is_below(root: Finding, planted: Planted) -> bool:
    """Return True if the planted fault is a consequence of a finding on the same file of the same node."""
    consequences = root.consequences or ()
    return (root.node_id, root.file) == (planted.node_id, str(planted.file)) and any(
        one.startswith((f"{planted.kind}: ", f"{planted.kind}, ")) for one in consequences
    )


@pytest.mark.parametrize("damage", ALL_DAMAGE, ids=lambda damage: damage.name)
def test_damage_is_named_where_it_is(damage: Damage, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    planted = damage.plant(cluster)

    report = check_paths([cluster.root])

    assert any(_is(found, planted) or _is_below(found, planted) for found in report.findings), report.findings
    assert report.is_sound is not planted.counts
    others = [found for found in report.findings if not _is(found, planted)]
    unrelated = [found for found in others if found.kind not in planted.also | {planted.kind}]
    assert unrelated == []
    assert planted.also <= {found.kind for found in others}, "no kind is expected in vain"


def test_what_no_start_ends_at_is_silent(clusters: Path, tmp_path: Path) -> None:
    """A controller ignores what lies beside its log. A broker knows its cache and the directories an agent stages."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    (cluster.disk(1) / "lost+found").mkdir()
    (cluster.disk(1) / "foo-0").mkdir()
    (cluster.disk(1) / "foo-0" / "partition.metadata").write_bytes(b"rubbish\xff")
    for name in ("remote-log-index-cache", "deleting"):
        (cluster.disk(11) / name).mkdir()

    assert check_paths([cluster.root]).is_sound

    (cluster.disk(11) / "lost+found").mkdir()
    (one,) = [found for found in check_paths([cluster.node(11)]).findings if found.counts]
    assert (one.kind, one.file) == ("strange_directory", str(cluster.disk(11) / "lost+found"))


def test_what_a_broker_starts_with_in_a_partition_is_silent(clusters: Path, tmp_path: Path) -> None:
    """No topic id in what was set aside, no epochs yet, a compaction that a crash interrupted, and names that no reader
    takes."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for mark in ("stray", "delete"):
        (cluster.disk(11) / f"gone-0.{'0' * 32}-{mark}").mkdir()
    one, other = (path.parent for path in sorted(cluster.disk(11).glob("[a-z]*-?/partition.metadata"))[:2])
    (one / "leader-epoch-checkpoint").write_bytes(b"")
    (other / "leader-epoch-checkpoint").unlink(missing_ok=True)
    for name in (f"{0:020d}.log.cleaned", f"{0:020d}.log.swap", "abc.deleted", "abc.checkpoint", "abc.txt"):
        (one / name).write_bytes(b"x")
    (one / "abc.log").mkdir()

    assert check_paths([cluster.root]).is_sound


def test_offsets_that_a_broker_wrote_are_silent(clusters: Path, tmp_path: Path) -> None:
    """An empty file is one of a broker that was never stopped; none at all is no harm."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    (cluster.disk(11) / "replication-offset-checkpoint").write_text(
        "0\n2\norders 0 9223372036854775807\no.r-d_ers 10 0\n"
    )
    (cluster.disk(11) / "recovery-point-offset-checkpoint").write_text("")
    assert not (cluster.disk(11) / "cleaner-offset-checkpoint").exists()

    assert check_paths([cluster.root]).is_sound


def test_one_wrong_level_is_one_finding(clusters: Path, tmp_path: Path) -> None:
    """Dozens of records are above it: they are counted, and the first offsets named."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    planted = level_too_low(cluster)

    found = [one for one in check_paths([cluster.root]).findings if one.kind == "record_above_level"]

    (one,) = found
    assert _is(one, planted)
    assert "may not be written at 3.3-IV3 (7), only from 3.6-IV1 (13) on" in one.meaning
    assert re.search(
        r"the level is from \S+ at offset \d+\) \(and \d\d more, at offsets \d+, \d+,.*\.\.\.\)", one.meaning
    )


@pytest.mark.parametrize("name", SOUND_RECORDS)
def test_what_a_controller_may_write_is_not_damage(name: str, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    append(cluster.segment(LEADER), SOUND_RECORDS[name])

    assert check_paths([cluster.root]).is_sound


def test_every_name_of_a_damage_is_its_own() -> None:
    names = [damage.name for damage in ALL_DAMAGE]

    assert len(set(names)) == len(names)
    assert len(names) > 160


def test_kinds_say_what_to_do() -> None:
    assert all(kind.advice and kind.title and kind.name == name for name, kind in KINDS.items())
