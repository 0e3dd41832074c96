"""The data source `kraft_metadata_log`, read as a user of Spark reads it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kraft import spark as kraft_spark
from metadata_log.analysis.session import spark_context
from metadata_log.columnar.tables import full_name, table_schema
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import batch_values
from metadata_log.records import NoOpRecord, decode_record
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.read.scan import scan

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]
FORMAT = "kraft_metadata_log"
SECRETS = ("stored_key", "server_key", "salt")


@pytest.fixture(scope="module")
def session() -> SparkSession:
    found = SparkSession(spark_context())
    found.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    kraft_spark.register(found)
    return found


def read(session: SparkSession, path: Path | str, **options: str) -> DataFrame:
    return session.read.format(FORMAT).options(**options).load(str(path))


def test_records_are_those_of_each_log(session: SparkSession, clusters: Path) -> None:
    """Counted by node and type, beside the codec's count."""
    expected: Counter[tuple[int, str]] = Counter()
    for segment in sorted((clusters / "basic-4.4").glob("node-*/**/__cluster_metadata-0/*.log")):
        node = int(segment.relative_to(clusters).parts[1].removeprefix("node-"))
        handle = OsFiles().open(str(segment), read_only=True)
        for batch in scan(handle):
            if isinstance(batch, LocatedBatch) and not batch.header.is_control:
                records = map(decode_record, batch_values(batch.buffer, batch.header, batch.at))
                expected.update((node, full_name(type(record))) for record in records)
        handle.close()
    rows = read(session, clusters / "basic-4.4").where("type not in ('LEADER_CHANGE', 'KRAFT_VERSION', 'KRAFT_VOTERS')")
    found = {(row.node_id, row.type): row["count"] for row in rows.groupBy("node_id", "type").count().collect()}
    no_op = full_name(NoOpRecord)
    assert {key: count for key, count in expected.items() if key[1] != no_op} == found
    no_ops = read(session, clusters / "basic-4.4", table="records.no_op").groupBy("node_id").count().collect()
    assert {(row.node_id, no_op): row["count"] for row in no_ops} == {
        key: count for key, count in expected.items() if key[1] == no_op
    }


def test_every_table_has_its_columns(session: SparkSession, clusters: Path) -> None:
    for table in ("records", "batches", "checkpoints", "files", "records.topic", "records.kraft_voters"):
        frame = read(session, clusters / "basic-4.4", table=table)
        assert frame.columns == table_schema(table).names
        rows = frame.collect()
        assert {row.cluster_id for row in rows} == {"MkU3OEVBNTcwNTJENDM2Qg"}
        assert {1, 2, 3} <= {row.node_id for row in rows} <= {1, 2, 3, 11, 12}


def test_an_export_has_the_rows_of_its_directory(session: SparkSession, clusters: Path, tmp_path: Path) -> None:
    directory = clusters / "basic-4.4/node-2/data"
    export_replica(directory, tmp_path / "export")
    columns = ("cluster_id", "node_id", "directory_id", "position", "offset", "epoch", "type", "name", "topic_id")
    exported, own = (
        [tuple(row) for row in read(session, path).select(*columns).orderBy("offset").collect()]
        for path in (tmp_path / "export", directory)
    )
    assert exported == own
    assert len(own) > 80


def test_options_filters_and_splits_give_the_rows_that_sql_gives(session: SparkSession, clusters: Path) -> None:
    everything = read(session, clusters / "every-record-4.4").orderBy("node_id", "offset").collect()
    small = read(session, clusters / "every-record-4.4", split_bytes="1024").orderBy("node_id", "offset").collect()
    assert small == everything
    topics = [row for row in everything if row.type == "TOPIC_RECORD" and row.node_id == 2 and row.offset >= 20]
    assert topics
    where = "type = 'TOPIC_RECORD' and node_id = 2 and offset >= 20"
    for pushdown in ("true", "false"):
        frame = read(session, clusters / "every-record-4.4", pushdown=pushdown)
        assert frame.where(where).orderBy("offset").collect() == topics
    options = {"types": "topic", "nodes": "2", "from": "20"}
    assert read(session, clusters / "every-record-4.4", **options).orderBy("offset").collect() == topics
    names = read(session, clusters / "every-record-4.4/node-[23]", **options).select("name").orderBy("offset").collect()
    assert [row.name for row in names] == [row.name for row in topics]
    time = topics[0].ts.isoformat()
    until = session.read.format(FORMAT).option("until", str(int(topics[0].ts.timestamp() * 1000)))
    assert all(row.ts.isoformat() < time for row in until.load(str(clusters / "every-record-4.4")).collect())


def test_secrets_are_hidden_unless_asked_for(session: SparkSession, clusters: Path) -> None:
    hidden = read(session, clusters / "every-record-4.4", table="records.user_scram_credential").collect()
    shown = read(
        session, clusters / "every-record-4.4", table="records.user_scram_credential", secrets="true"
    ).collect()
    assert len(hidden) == len(shown) > 0
    for name in SECRETS:
        assert {row[name] for row in hidden} == {None}
        assert None not in {row[name] for row in shown}


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("nowhere", {}, "nowhere: no such file or directory"),
        (".", {}, "no metadata log is there"),
        ("", {}, "name the logs: load(PATH)"),
        (".", {"table": "topics"}, "table=topics: it must be one of records, batches"),
        (".", {"tabel": "records"}, "tabel: no such option of kraft_metadata_log; there are path"),
        (".", {"nodes": "one"}, "nodes=one: it must be a whole number"),
        (".", {"since": "yesterday"}, "since=yesterday: it must be ms since 1970"),
        (".", {"split_bytes": "3"}, "split_bytes=3: it must be 1024 at least"),
        (".", {"types": "topic,tipoc"}, "types=tipoc: it must be one of register_broker"),
        ("ftp://host/x", {}, "ftp://host/x: "),
    ],
)
def test_bad_input_has_a_sentence(
    session: SparkSession, tmp_path: Path, path: str, options: dict[str, str], words: str
) -> None:
    place = path if "://" in path or not path else str(tmp_path / path)
    with pytest.raises(PySparkException) as error:
        read(session, place, **options).collect()
    assert words in str(error.value)
