"""Words and paths as sentences have them."""

from __future__ import annotations

import pytest

from metadata_log.tools.words import count_of, offsets, short_paths


@pytest.mark.parametrize(
    ("paths", "short"),
    [
        (["/backup/a/controller-1"], ["a/controller-1"]),
        (["/var/kafka/node-1/data/__cluster_metadata-0"], ["node-1/data"]),
        (["/b/exports/controller-1", "/b/exports/controller-10"], ["controller-1", "controller-10"]),
        (["/b/node-1/data/__cluster_metadata-0", "/b/node-2/data"], ["node-1/data", "node-2/data"]),
        (["/b/exports", "/b/exports/controller-1"], ["exports", "exports/controller-1"]),
        (["/one", "/two/three"], ["one", "two/three"]),
        (["/"], ["/"]),
        (["/a/x", "/a/x"], ["a/x", "a/x"]),
    ],
)
def test_paths_keep_what_distinguishes_them(paths: list[str], short: list[str]) -> None:
    assert short_paths(paths) == short


def test_counts() -> None:
    assert [count_of(1, "log"), count_of(0, "log"), count_of(3000, "log")] == ["1 log", "0 logs", "3,000 logs"]


def test_one_record_has_one_offset() -> None:
    assert [offsets(95, 96), offsets(95, 97), offsets(95, 95)] == ["offset 95", "offsets 95 to 97", "offsets 95 to 95"]
