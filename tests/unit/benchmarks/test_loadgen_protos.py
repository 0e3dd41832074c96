"""The load generator is built from every .proto file that those it speaks import."""

from __future__ import annotations

import re

from benchmarks.loadgen.build import ROOT, proto_files


def test_no_imported_proto_is_left_out() -> None:
    files = proto_files()
    imported = {name for file in files for name in re.findall(r'^import "(kraft/.*)";', file.read_text(), re.MULTILINE)}
    assert imported
    assert imported <= {str(file.relative_to(ROOT / "proto")) for file in files}
