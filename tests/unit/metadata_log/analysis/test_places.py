"""Logs in an object store: what is found there, what is read, and one sentence for each fault of the store.

The store is a server on loopback that speaks S3's protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from metadata_log.analysis.errors import AnalysisError
from metadata_log.analysis.source.options import parse_options
from metadata_log.analysis.source.places import RemoteFile, find_files, shown
from metadata_log.analysis.source.reading import pieces_of, rows_of
from tests.support.fixture_files import FIXTURES

LOGS = FIXTURES / "basic-4.4"
COLUMNS = ("cluster_id", "node_id", "directory_id", "position", "offset", "epoch", "type", "name", "topic_id")


class Store:
    """A store with the bucket `logs`, and its URIs."""

    def __init__(self, address: str) -> None:
        self._parameters = f"endpoint_override={address.replace(':', '%3A')}&scheme=http&region=us-east-1"
        self.files: Any = fs.S3FileSystem(
            access_key="key", secret_key="hunter2", endpoint_override=address, scheme="http", region="us-east-1",
            allow_bucket_creation=True,
        )  # fmt: skip
        self.files.create_dir("logs")

    def copy(self, source: Path, name: str) -> None:
        fs.copy_files(
            str(source), f"logs/{name}", source_filesystem=fs.LocalFileSystem(), destination_filesystem=self.files
        )

    def uri(self, name: str, bucket: str = "logs") -> str:
        return f"s3://key:hunter2@{bucket}/{name}?{self._parameters}"


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield Store(f"{host}:{port}")
    server.stop()


def rows(place: str, **options: str) -> list[tuple[object, ...]]:
    """Return the rows of a place, sorted."""
    chosen = parse_options({"path": place, **options})
    batches = [batch for pieces in pieces_of(chosen) for batch in rows_of(pieces, chosen, COLUMNS)]
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row[1], row[4]))


def test_a_bucket_has_the_rows_of_the_directory(store: Store) -> None:
    store.copy(LOGS, "cluster")
    local = rows(str(LOGS))
    assert len(local) > 200
    assert rows(store.uri("cluster")) == local
    assert rows(store.uri("cluster"), split_bytes="1024") == local
    assert rows(store.uri("cluster/node-[12]")) == rows(str(LOGS), nodes="1,2")


def test_no_name_of_a_file_has_a_secret_or_a_parameter(store: Store) -> None:
    store.copy(LOGS / "node-1", "one")
    names = {file.name for file in find_files([store.uri("one")])}
    assert names == {
        "s3://logs/one/data/__cluster_metadata-0/00000000000000000000.log",
        "s3://logs/one/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
    }


@pytest.mark.parametrize(
    ("place", "printed"),
    [
        ("s3://key:hunter2@bucket/a/b?region=x", "s3://bucket/a/b"),
        ("s3://bucket", "s3://bucket"),
        ("hdfs://host:8020/a@b", "hdfs://host:8020/a@b"),
        ("/a/b?c", "/a/b?c"),
    ],
)
def test_a_place_is_printed_without_secrets(place: str, printed: str) -> None:
    assert shown(place) == printed


def test_a_missing_bucket_and_an_empty_folder_have_a_sentence(store: Store) -> None:
    for place, words in (
        (store.uri("x", bucket="nowhere"), r"^s3://nowhere/x: .*NO_SUCH_BUCKET"),
        (store.uri("nothing"), r"^s3://logs/nothing: no such file or directory"),
        ("s3://key:hunter2@logs/x?endpoint_override=127.0.0.1%3A1&scheme=http&region=us-east-1", r"^s3://logs/x: "),
        ("nonsense://logs/x", r"^nonsense://logs/x: "),
    ):
        with pytest.raises(AnalysisError, match=words) as error:
            find_files([place])
        assert "hunter2" not in str(error.value)


def test_an_object_that_changes_since_the_listing_has_a_sentence(store: Store) -> None:
    store.copy(LOGS / "node-2", "changing")
    log = next(file for file in find_files([store.uri("changing")]) if not file.is_checkpoint)
    with store.files.open_output_stream(log.path) as out:
        out.write(b"short")
    handle = RemoteFile(log)
    with pytest.raises(AnalysisError, match=r"0\.log: it "):
        handle.pread(log.size, 0)
    handle.close()
    store.files.delete_file(log.path)
    with pytest.raises(AnalysisError, match="it was removed since it was listed; list the logs again"):
        RemoteFile(log)


def test_a_file_with_another_identity_or_none(tmp_path: Path) -> None:
    log = (LOGS / "node-1/data/__cluster_metadata-0/00000000000000000000.log").read_bytes()
    bare, export = tmp_path / "bare", tmp_path / "export"
    for folder in (bare, export):
        folder.mkdir()
        (folder / "00000000000000000000.log").write_bytes(log)
    (found,) = find_files([str(bare)])
    assert (found.log.cluster_id, found.log.node_id, found.log.directory_id) == (None, None, None)
    (export / "manifest.json").write_text("[]")
    with pytest.raises(AnalysisError, match=r"manifest\.json: it is no manifest of an export: "):
        find_files([str(export)])
