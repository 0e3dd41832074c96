"""The garbage collector rests while a checkpoint is loaded, and works again whatever comes of that."""

from __future__ import annotations

import gc

import pytest

from quorum.node.interpreter import without_collections


def test_collections_rest_and_come_back() -> None:
    with without_collections():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_they_come_back_after_a_failure() -> None:
    with pytest.raises(OSError, match="gone"), without_collections():
        raise OSError("gone")
    assert gc.isenabled()
