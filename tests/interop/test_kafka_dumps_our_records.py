"""Kafka's own kafka-dump-log reads every record that we write, and prints of it what our dump prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import LeaderChangeMessage, encode_control, encode_record
from metadata_log.tools.dump.dump import dump_text
from tests.support.kafka.tools import KafkaTools
from tests.support.records import CONTROL_VERSIONS_OF, METADATA_VERSIONS_OF, bare_record, full_record


@pytest.mark.campaign
def test_kafka_prints_our_records_as_we_do(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    values = [
        encode_record(make(record, version), version)
        for record, version in METADATA_VERSIONS_OF
        for make in (bare_record, full_record)
    ]
    controls = [
        encode_control(make(record, version))
        for record, version in CONTROL_VERSIONS_OF
        for make in (bare_record, full_record)
        if (record, version) != (LeaderChangeMessage, 1)  # Kafka reads it as version 0
    ]
    data = build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=1, values=values)
    control = build_control_batch(base_offset=Offset(len(values)), epoch=Epoch(2), timestamp_ms=2, records=controls)
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(data + control + data[:30])
    assert kafka_tools.dump_log(log) == "".join(f"{line}\n" for line in dump_text(str(log), log.read_bytes()))
