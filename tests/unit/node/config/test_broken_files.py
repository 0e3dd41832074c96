"""Files that their writers did not mean so: PEM text without continuations, byte order marks, many unknown keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.errors import CliError
from quorum.cli.node_file import read_node_file
from quorum.node.config.known_keys import LISTED
from quorum.node.config.node_config import NodeConfig, config_of, load_config
from quorum.node.config.values import ConfigError

CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "listeners": "CONTROLLER://c1:9093,GRPC://c1:9094",
    "log.dirs": "/data",
}
LINES = [f"{key}={value}" for key, value in CONTROLLER.items()]
BODY = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "k3Fzh9+4o/aB=", "Zz0="]
KEY = ["-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----"]
CHAIN = [*KEY, "-----BEGIN CERTIFICATE-----", *BODY, "-----END CERTIFICATE-----"]
OLD_KEY = [KEY[0], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-256-CBC,0A1B2C3D", *KEY[1:]]


def _load(tmp_path: Path, *lines: str) -> NodeConfig:
    path = tmp_path / "c.properties"
    path.write_text("\n".join(lines) + "\n")
    return load_config(path)


def _refused(tmp_path: Path, *lines: str) -> str:
    with pytest.raises(ConfigError) as raised:
        _load(tmp_path, *lines)
    return str(raised.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    "value",
    [
        ["ssl.keystore.key=" + KEY[0], *KEY[1:]],
        ["ssl.keystore.key=" + CHAIN[0], *CHAIN[1:]],
        ["ssl.keystore.key=" + OLD_KEY[0], *OLD_KEY[1:]],
        ["ssl.keystore.key=", *KEY],
        ["ssl.keystore.key=", *KEY[1:]],
        ["ssl.keystore.key=" + KEY[0], *KEY[1:-1]],
        ["ssl.keystore.key=" + KEY[0] + "\\", KEY[1], *KEY[2:]],
        ["ssl.keystore.key=" + KEY[0] + "\\ ", KEY[1] + "\\", *KEY[2:]],
        ["ssl.keystore.key=" + KEY[0], *BODY[:2], "a line: of. no base64", "<another>", *KEY[3:]],
        ["ssl.keystore.key=" + KEY[0], *BODY[:2], "Zz 0=", *LINES[2:]],
        ["ssl.keystore.key=" + KEY[0], *KEY[1:], "ssl.keystore.key=" + KEY[0], *KEY[1:]],
    ],
    ids=lambda value: str(len(value)),
)
def test_pem_text_without_continuations_is_said_once(value: list[str], tmp_path: Path) -> None:
    said = _refused(tmp_path, *LINES[:2], *value, *LINES[2:])
    (line,) = (line for line in said.splitlines() if "PEM" in line)
    assert line.endswith(
        ": the value of ssl.keystore.key is PEM text over several lines, but Java reads each further line as another "
        "key: end each line but the last with \\"
    )
    assert not any(part in said for text in (*BODY, *OLD_KEY) for part in (text, text.rstrip("=")))
    assert "unknown key" not in said
    assert "missing" not in said


def test_the_beginning_of_pem_text_alone_is_not_called_several_lines(tmp_path: Path) -> None:
    said = _refused(tmp_path, *LINES, "ssl.keystore.key=" + KEY[0], "log.segment.bytes=1048576")
    assert "line 5: the value of ssl.keystore.key is the beginning of a PEM text without its end" in said
    assert "several lines" not in said
    (warning,) = _load(tmp_path, *LINES, "".join(KEY)).warnings
    assert warning == "line 5: PEM text where a key must be: write its key before it, or remove it"


def test_pem_lines_below_a_comment_accuse_no_key(tmp_path: Path) -> None:
    (warning,) = _load(tmp_path, *LINES, "#ssl.keystore.key=" + KEY[0], *KEY[1:]).warnings
    assert warning.startswith("line 6: PEM text over several lines without a key")
    assert "log.dirs" not in warning


def test_continued_pem_text_is_a_value(tmp_path: Path) -> None:
    config = _load(tmp_path, *LINES, "ssl.keystore.key=" + "\\\n".join(KEY), "ssl.key.password=x")
    assert config.unused_keys == ("ssl.key.password", "ssl.keystore.key")
    assert config.warnings == ()


def test_broken_pem_text_of_a_key_that_protects_nothing_is_a_warning(tmp_path: Path) -> None:
    lines = [*LINES, "vendor.key=" + KEY[0], *KEY[1:]]
    unknown, broken = sorted(_load(tmp_path, *lines).warnings, reverse=True)
    assert unknown == "unknown key vendor.key is ignored"
    assert broken.startswith("line 5: the value of vendor.key is PEM text over several lines")
    with pytest.raises(ConfigError, match="has 2 errors"):
        load_config(tmp_path / "c.properties", strict=True)
    (first,) = _load(tmp_path, *KEY, *LINES).warnings
    assert first.startswith("line 1: PEM text over several lines")


def test_pem_text_is_not_shown_as_a_wrong_value(tmp_path: Path) -> None:
    said = _refused(tmp_path, *LINES[:1], *LINES[2:], "node.id=" + "\\\n".join(KEY))
    assert said.startswith("c.properties: node.id=[hidden]: it is not a whole number")
    said = _refused(tmp_path, *LINES[:1], *LINES[2:], "node.id=" + KEY[0], *KEY[1:])
    assert said.startswith("c.properties: line 4: the value of node.id is PEM text over several lines")


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_a_byte_order_mark_is_named_beside_the_key_that_it_hides(mark: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    path.write_bytes(mark + "\n".join(LINES).encode())
    hint = "warning: line 1: the file begins with a byte order mark, which Java reads as part of the first key"
    with pytest.raises(ConfigError) as raised:
        load_config(path)
    head, first, second, *_ = str(raised.value).split("\n  ")
    assert " has 1 error and " in head
    assert first.startswith("process.roles is missing")
    assert second.startswith(hint)
    path.write_bytes(mark + b"node.id=1\nlog.dirs=/data\n")
    with pytest.raises(CliError, match=hint):
        read_node_file(path)
    path.write_bytes(mark + b"node.id=1\na=\\uXYZ\n")
    with pytest.raises(ConfigError, match=hint):
        load_config(path)


def test_warnings_come_with_the_errors_and_after_them() -> None:
    with pytest.raises(ConfigError) as raised:
        config_of({**CONTROLLER, "vendor.a": "1", "node.id": "x", "vendor.b": "1", "log.dirs": ""}, source="c")
    assert str(raised.value).splitlines() == [
        "c has 2 errors and 2 warnings:",
        "  node.id=x: it is not a whole number: write one from 0 to 2147483647",
        "  log.dirs is missing: it must be set",
        "  warning: unknown key vendor.a is ignored",
        "  warning: unknown key vendor.b is ignored",
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_of_many_unknown_keys_the_first_are_named(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = _count_distances(monkeypatch)
    given = {**CONTROLLER, **{f"log.segment.byte.{at}": "1" for at in range(5_000)}}
    if strict:
        with pytest.raises(ConfigError) as raised:
            config_of(given, strict=True)
        lines = [line.strip() for line in str(raised.value).splitlines()[1:]]
        rest = f"{5_000 - LISTED} more unknown keys are wrong: remove them"
    else:
        lines = list(config_of(given).warnings)
        rest = f"{5_000 - LISTED} more unknown keys are ignored"
    assert len(lines) == LISTED + 1
    assert lines[-1] == rest
    assert lines[0].startswith("unknown key log.segment.byte.0")
    assert len(compared) < 20_000, "the time does not grow with the square of the keys"


def _count_distances(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from quorum.node.config import known_keys  # noqa: PLC0415

    compared: list[str] = []
    real = known_keys.edit_distance

    def counting(one: str, other: str, most: int) -> int:
        compared.append(one)
        return real(one, other, most)

    monkeypatch.setattr(known_keys, "edit_distance", counting)
    return compared
