"""Kafka's own dump tool and metadata shell on what our nodes left: both say what we say, to the letter.

Record for record and image for image, of a small life in which all that we write comes up, and of the run of kills.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.dump.dump import dump_rows, dump_text
from metadata_log.tools.shell.image_tree import image_tree, tree_lines
from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.tools import KafkaTools
from tests.support.kill_run import KillRun
from tests.support.log_history import read_history
from tests.support.small_scenario import live_a_little

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

WRITTEN = {
    "LEADER_CHANGE", "KRAFT_VERSION", "KRAFT_VOTERS",
    "BEGIN_TRANSACTION_RECORD", "FEATURE_LEVEL_RECORD", "CONFIG_RECORD", "END_TRANSACTION_RECORD",
    "TOPIC_RECORD", "PARTITION_RECORD", "PARTITION_CHANGE_RECORD", "REMOVE_TOPIC_RECORD",
    "REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD", "REGISTER_CONTROLLER_RECORD",
}  # fmt: skip
"""Every kind of record that our nodes write, whether or not the quorum idles."""
WHILE_IDLE = {"NO_OP_RECORD"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The log directories of every node of the small life."""
    cluster = live_a_little(tmp_path_factory.mktemp("small"))
    return [node.log_dir for node in cluster.nodes]


def test_the_small_life_has_every_kind_of_record_that_we_write(small: list[Path]) -> None:
    (log,) = sorted((small[0] / "__cluster_metadata-0").glob("*.log"))
    assert {row.type for row in dump_rows(log.read_bytes())} - WHILE_IDLE == WRITTEN


def test_kafka_dumps_the_small_life_as_we_do(small: list[Path], kafka_tools: KafkaTools) -> None:
    for directory in small:
        _compare_dumps(directory, kafka_tools)


def test_kafkas_shell_shows_the_small_life_as_we_do(small: list[Path], previous_kafka_tools: KafkaTools) -> None:
    for directory in small:
        _compare_trees(directory / "__cluster_metadata-0", previous_kafka_tools)


def test_kafkas_shell_as_it_is_run_by_hand_shows_the_small_life(
    small: list[Path], previous_kafka_tools: KafkaTools
) -> None:
    (log,) = (small[0] / "__cluster_metadata-0").glob("*.log")
    image = read_history(log.parent).shown
    expected = "".join(f"{line}\n" for line in tree_lines({"image": image_tree(image)}))

    def printed() -> bool:  # it may print before it has read anything
        return previous_kafka_tools.shell_tree(log).startswith(expected)

    wait_until("Kafka's shell to print what we do", printed)


def test_kafka_dumps_what_the_kills_left_as_we_do(kill_run: KillRun, kafka_tools: KafkaTools) -> None:
    for directory in kill_run.directories:
        _compare_dumps(directory.parent, kafka_tools)


def test_kafkas_shell_shows_what_the_kills_left_as_we_do(kill_run: KillRun, previous_kafka_tools: KafkaTools) -> None:
    for directory in kill_run.directories:
        _compare_trees(directory, previous_kafka_tools)


def _compare_dumps(log_dir: Path, kafka_tools: KafkaTools) -> None:
    """Every segment and checkpoint, with the bootstrap checkpoint beside them."""
    files = sorted(path for kind in ("*.log", "*.checkpoint") for path in log_dir.rglob(kind))
    assert any(path.suffix == ".log" and path.stat().st_size for path in files)
    for path in files:
        said = kafka_tools.dump_log(path).splitlines()
        for number, (theirs, ours) in enumerate(zip(said, dump_text(str(path), path.read_bytes()), strict=True)):
            assert theirs == ours, f"{path}, line {number}"


def _compare_trees(directory: Path, previous_kafka_tools: KafkaTools) -> None:
    """Compare the images at the log's very end."""
    (log,) = directory.glob("*.log")
    image = read_history(directory).shown
    said = previous_kafka_tools.loaded_tree(log, image.offset_and_epoch.offset - 1).splitlines()
    theirs = said[: said.index("local:")]
    ours = tree_lines({"image": image_tree(image)})
    for number, pair in enumerate(zip(theirs, ours, strict=True)):
        assert pair[0] == pair[1], f"{directory}, line {number}"
