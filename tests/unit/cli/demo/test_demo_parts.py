"""The parts of the demo: its directory, its interrupts, its output, and how it watches the replicas' files."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from quorum.cli.demo.cluster import PORTS, Node, free_ports
from quorum.cli.demo.comeback import reaching
from quorum.cli.demo.elect import record_of
from quorum.cli.demo.interrupts import Interrupted, interrupts, shielded
from quorum.cli.demo.node_log import how_it_was_elected, log_sizes
from quorum.cli.demo.place import MARKER, own_directory
from quorum.cli.demo.replica_files import ReplicaFiles
from quorum.cli.demo.spark_child import run_kraft
from quorum.cli.demo.story import CheckFailedError, Story, check
from quorum.cli.errors import CliError

FIXTURES = Path(__file__).parents[3] / "fixtures"
NODE_1 = FIXTURES / "basic" / "node-1" / "data" / "__cluster_metadata-0"


def test_a_port_is_given_once_though_nobody_listens_there_yet() -> None:
    """Another process does not get one of these ports either."""
    given = [port for _ in range(10) for port in free_ports(10)]
    assert len(set(given)) == 100
    assert set(given) <= set(PORTS)
    program = "from quorum.cli.demo.cluster import free_ports\nprint(*free_ports(400))"
    asked = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    others = {int(port) for port in asked.stdout.split()}
    assert len(others) == 400
    assert others.isdisjoint(given)


def test_its_own_directory_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with own_directory(path) as place:
        (place / "exports").mkdir()
        (place / "verdict.html").write_text("old")
        outside = tmp_path / "outside"
        outside.mkdir()
        (place / "link").symlink_to(outside)
    with own_directory(path) as place:
        assert [child.name for child in place.iterdir()] == [MARKER]
    assert outside.is_dir()


def test_an_empty_directory_is_taken_and_a_full_one_left_alone(tmp_path: Path) -> None:
    with own_directory(tmp_path):
        pass
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("")
    with pytest.raises(CliError, match="not made by kraft demo"), own_directory(full):
        pass
    assert [child.name for child in full.iterdir()] == ["mine"]


@pytest.fixture
def own_handlers() -> Iterator[None]:
    """Puts this process's handlers back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _signalled_twice() -> None:
    with interrupts():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)


def _fail_when_interrupted() -> None:
    with interrupts():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except Interrupted:
            raise RuntimeError("cannot release un-acquired lock") from None


@pytest.mark.usefixtures("own_handlers")
def test_what_fails_in_its_own_way_when_it_is_interrupted_is_interrupted() -> None:
    """An interrupted wait on a Condition fails so: it cannot release a lock that it has not acquired again."""
    with pytest.raises(Interrupted, match="SIGTERM"):
        _fail_when_interrupted()


@pytest.mark.usefixtures("own_handlers")
def test_a_signal_interrupts_once() -> None:
    with pytest.raises(Interrupted) as interrupted:
        _signalled_twice()
    assert interrupted.value.exit_code == 128 + signal.SIGTERM
    os.kill(os.getpid(), signal.SIGINT)


def test_without_a_signal_everything_is_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interrupts():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def _signalled_behind_a_shield(done: list[str]) -> None:
    with interrupts():
        with shielded():
            with shielded():
                os.kill(os.getpid(), signal.SIGINT)
                done.append("inner")
            done.append("outer")
        done.append("never")


@pytest.mark.usefixtures("own_handlers")
def test_what_is_shielded_is_done_to_its_end() -> None:
    done: list[str] = []
    with pytest.raises(Interrupted):
        _signalled_behind_a_shield(done)
    assert done == ["inner", "outer"]


def test_a_story_in_a_pipe_is_plain_lines() -> None:
    said = io.StringIO()
    story = Story(2, Console(file=said, width=20))
    story.title("A title")
    story.act("First")
    with story.working("nothing that a pipe shows"):
        story.say("a line that is longer than twenty columns [not markup]")
    story.table(("a", "b"), [{"a": 1, "b": "x"}])
    story.proved("true")
    *lines, last = said.getvalue().splitlines()
    assert lines == [
        "A title",
        "",
        "[1/2] First",
        "  a line that is longer than twenty columns [not markup]",
        "  A  B",
        "  1  x",
    ]
    assert last in ("  ok: true", "  ✓ true")


def test_a_claim_that_does_not_hold_is_an_error() -> None:
    check(True, "never said")
    with pytest.raises(CheckFailedError, match="what was wrong"):
        check(False, "what was wrong")


def test_the_files_of_a_real_cluster_are_read() -> None:
    log = ReplicaFiles(NODE_1)
    assert log.end_offset == log.batches[-1].header.next_offset
    image = log.image()
    assert image.offset_and_epoch.offset == log.end_offset
    assert {topic.name for topic in log.topics()} >= set(image.topics.by_name)
    assert all(len(leaders) == 1 for leaders in log.leaders().values())


def test_the_leaders_file_may_get_late_what_its_followers_committed(tmp_path: Path) -> None:
    shutil.copytree(NODE_1, tmp_path / "late")
    log = ReplicaFiles(NODE_1)
    first = next(log.topics())
    os.truncate(tmp_path / "late" / "00000000000000000000.log", log.batches[1].position)
    looks = iter([ReplicaFiles(tmp_path / "late"), log])
    assert record_of(first.name, "controller 1", lambda: next(looks)) == first


def test_a_leaders_files_are_compared_once_they_hold_what_was_committed(tmp_path: Path) -> None:
    shutil.copytree(NODE_1, tmp_path / "late")
    log = ReplicaFiles(NODE_1)
    os.truncate(tmp_path / "late" / "00000000000000000000.log", log.batches[-1].position)
    looks = iter([ReplicaFiles(tmp_path / "late"), log])

    assert reaching(log.end_offset, "controller 1", lambda: next(looks)) is log


def test_the_first_difference_is_where_a_log_goes_its_own_way(tmp_path: Path) -> None:
    shutil.copytree(NODE_1, tmp_path / "copy")
    log = ReplicaFiles(NODE_1)
    segment = tmp_path / "copy" / "00000000000000000000.log"
    last = log.batches[-1]
    os.truncate(segment, last.position)
    shorter = ReplicaFiles(tmp_path / "copy")
    assert shorter.first_difference(log) is None
    assert log.first_difference(shorter) == last.header.base_offset
    os.truncate(segment, last.position - 1)
    assert ReplicaFiles(tmp_path / "copy").end_offset == log.batches[-2].header.base_offset


def test_damage_in_the_middle_is_refused_by_name(tmp_path: Path) -> None:
    shutil.copytree(NODE_1, tmp_path / "copy")
    segment = tmp_path / "copy" / "00000000000000000000.log"
    batch = ReplicaFiles(NODE_1).batches[2]
    with segment.open("r+b") as file:
        file.seek(batch.position + batch.header.size_in_bytes - 1)
        file.write(b"\xff")
    with pytest.raises(CheckFailedError, match=f"damaged at byte {batch.position}"):
        ReplicaFiles(tmp_path / "copy")


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        (("prospective", "candidate", "leader"), "was prospective, candidate, then leader of epoch 3 within 40 ms."),
        (
            ("prospective", "follower", "prospective", "follower", "candidate", "leader"),
            "was candidate after several rounds as prospective, then leader of epoch 3 within 20 ms.",
        ),
    ],
)
def test_an_election_is_told_as_the_node_wrote_it(tmp_path: Path, roles: tuple[str, ...], said: str) -> None:
    node = Node("controller", 1, tmp_path, {}, {})
    lines = [
        f"2026-01-01T00:00:00.{number * 20:03}000Z [info     ] transition  role={role} epoch=3"
        for number, role in enumerate(roles)
    ]
    node.log_file.write_text("\n".join(lines))
    assert how_it_was_elected(node) == f"Controller 1 {said}"


def test_an_election_begins_after_the_kill(tmp_path: Path) -> None:
    """A `follower` that comes for the third time in an epoch is left out of the log."""
    node = Node("controller", 1, tmp_path, {}, {})
    line = "2026-01-01T00:00:00.{:03}000Z [info     ] transition  role={} epoch={}\n"
    node.log_file.write_text(line.format(0, "prospective", 1))
    sizes = log_sizes([node])
    with node.log_file.open("a") as file:
        file.write(
            line.format(700, "prospective", 1) + line.format(720, "candidate", 2) + line.format(730, "leader", 2)
        )
    said = "Controller 1 was prospective, candidate, then leader of epoch 2 within 30 ms."
    assert how_it_was_elected(node, sizes) == said


def test_a_child_says_how_it_ended(tmp_path: Path) -> None:
    done = run_kraft(("storage", "random-uuid"), scratch=tmp_path / "tmp")
    assert (done.status, len(done.output.strip()), done.errors) == (0, 22, "")
    assert run_kraft(("log", "dump", "/does/not/exist"), scratch=tmp_path / "tmp").status == 2


def test_without_spark_the_demo_says_so_before_it_starts_anything(tmp_path: Path) -> None:
    called = ["kraft", "demo", "--directory", str(tmp_path / "d")]
    words = f"import sys; sys.modules['pyspark'] = None; sys.argv = {called!r}"
    done = subprocess.run(
        [sys.executable, "-c", f"{words}; from quorum.cli.main import main; main()"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "package pyspark is not installed, which the extra 'analysis' brings: " in done.stderr
    assert not (tmp_path / "d").exists()
