"""The table of Kafka's keys is what Kafka's published jars define."""

from __future__ import annotations

import pytest

from tests.kafka_releases.config_keys import main

pytestmark = pytest.mark.campaign


def test_the_jars_define_the_keys_of_the_table() -> None:
    assert main(["--jars", "--check"]) == 0
