"""Files of Kafka's nodes: `tests/fixtures/configs`, and the `server.properties` of every recorded node."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

from quorum.node.config.properties import parse_properties

_FIXTURES = Path(__file__).parents[1] / "fixtures"


@cache
def kafka_files() -> dict[str, str]:
    """Return the text of each file, by its name."""
    found = {path.name: path.read_text() for path in sorted((_FIXTURES / "configs").glob("*.properties"))}
    with tarfile.open(_FIXTURES / "clusters.tar.xz") as archive:
        for member in archive:
            if member.name.endswith("/server.properties"):
                data = archive.extractfile(member)
                assert data is not None
                found[member.name.removeprefix("./")] = data.read().decode()
    return found


def stock_properties(name: str, **changes: str) -> dict[str, str]:
    """Return the keys of a file in `tests/fixtures/configs`, with changes: `_` means a dot."""
    given = parse_properties((_FIXTURES / "configs" / name).read_text()).values
    return {**given, **{key.replace("_", "."): value for key, value in changes.items()}}
