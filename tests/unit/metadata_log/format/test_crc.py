"""The checksum: Castagnoli's, by the package's extension alone, or by the package where it has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import crc32c as package
import pytest

from metadata_log.format.crc import crc32c

_OTHER_RELEASE = '''
def crc32c(data, value=0):
    """Bit by bit."""
    value ^= 0xFFFFFFFF
    for byte in bytes(data):
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF
'''


@pytest.mark.parametrize(("data", "expected"), [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA)])
def test_known_values(data: bytes, expected: int) -> None:
    assert crc32c(data) == package.crc32c(data) == expected
    assert crc32c(memoryview(data)) == expected


def _in_a_fresh_python(code: str, *, first: str = "") -> str:
    return subprocess.check_output(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {first!r}); {code}"], text=True
    )


def test_the_packages_own_imports_are_not_paid_for() -> None:
    code = (
        "from metadata_log.format.crc import crc32c; print(crc32c(b'123456789'), 'importlib.metadata' in sys.modules)"
    )
    assert _in_a_fresh_python(code).split() == [str(0xE3069283), "False"]


def test_a_package_without_an_extension_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "crc32c").mkdir()
    (tmp_path / "crc32c" / "__init__.py").write_text(_OTHER_RELEASE)
    code = "from metadata_log.format.crc import crc32c; print(crc32c(b'123456789'), crc32c.__doc__)"
    assert _in_a_fresh_python(code, first=str(tmp_path)).split() == [str(0xE3069283), "Bit", "by", "bit."]
