"""Errors survive pickle, since Spark's processes send each other facts that hold them."""

from __future__ import annotations

import pickle

import pytest

from metadata_log.errors import (
    CorruptBatchError,
    CorruptFileError,
    LostVoteError,
    MetadataLogError,
    NewerFileError,
    NotFormattedError,
    OffsetOutOfRange,
    UnknownRecordError,
)


@pytest.mark.parametrize(
    "error",
    [
        CorruptFileError("/log/meta.properties", "it has no node.id", "restore it"),
        NewerFileError("/log/quorum-state", "it is of version 2"),
        CorruptBatchError("its checksum is wrong", position=7, base_offset=3, file="0.log"),
        UnknownRecordError(99, 1, 5),
        OffsetOutOfRange(9, 0, 5),
        LostVoteError("/log", "quorum-state"),
        NotFormattedError("/log has no meta.properties"),
    ],
)
def test_an_error_is_the_same_after_pickle(error: MetadataLogError) -> None:
    found = pickle.loads(pickle.dumps(error))

    assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))
