"""`--redact`: no SCRAM salt or key, and no password of a config, in anything that a tool shows or writes."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

from metadata_log.records import ConfigRecord, UserScramCredentialRecord, encode_record
from quorum.cli.main import run
from tests.support.damage import append
from tests.support.hostile_logs import METADATA, NODE

SEGMENT = f"{METADATA}/00000000000000000000.log"
NAMES = [
    "ssl.keystore.password", "listener.name.internal.ssl.key.password", "ssl.keystore.key", "sasl.jaas.config",
    "listener.name.x.scram-sha-256.sasl.jaas.config", "ssl.keystore.certificate.chain", "ssl.truststore.certificates",
    "delegation.token.secret.key", "password.encoder.secret", "delegation.token.master.key",
    "sasl.oauthbearer.client.credentials.client.secret", "my.plugin.PASSWORD",
    "my.plugin.api.token", "my.plugin.ca.certificate", "my.plugin.jaas",
]  # fmt: skip
PASSWORDS = [f"s3cr3t-{number}-é" for number in range(len(NAMES))]
BYTES = [bytes(range(start, start + 24)) for start in (30, 130, 200)]
PLAIN = "retention.ms", "123456789"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A log with secrets in all places, also in its last batch, whose checksum is wrong."""
    target = Path(shutil.copytree(NODE, tmp_path / "data", copy_function=shutil.copyfile))
    for path in (target / METADATA).glob("*index"):
        path.unlink()
    salt, stored, server = BYTES
    user = UserScramCredentialRecord(
        name="carol", mechanism=1, salt=salt, stored_key=stored, server_key=server, iterations=4096
    )
    pairs = [*zip(NAMES, PASSWORDS, strict=True), PLAIN]
    configs = [ConfigRecord(resource_type=4, resource_name="", name=name, value=value) for name, value in pairs]
    append(target / SEGMENT, [user, *configs])
    append(target / SEGMENT, [encode_record(user, 0)[:1] + b"\x0b\x09" + salt + stored])  # of a later version
    append(target / SEGMENT, [user, *configs])
    whole = bytearray((target / SEGMENT).read_bytes())
    whole[-1] ^= 1
    (target / SEGMENT).write_bytes(whole)
    return target


def _secrets() -> list[bytes]:
    texts = [secret.encode() for secret in PASSWORDS] + [text.encode("unicode-escape") for text in PASSWORDS]
    return [*texts, *(one for raw in BYTES for one in (raw, raw.hex().encode(), base64.b64encode(raw)[:30]))]


def _found(content: bytes) -> list[bytes]:
    return [secret for secret in _secrets() if secret in content]


SHOWING = [
    ["log", "dump", "IN"], ["log", "dump", "IN", "--as", "3.9"], ["log", "dump", "IN", "--type", "config"],
    *(["log", "dump", "IN", "-o", form] for form in ("table", "csv", "json", "jsonl", "parquet", "arrow")),
    ["shell", "IN", "tree", "/", "--at", "END"], ["shell", "IN", "history", "/configs", "--at", "END"],
    ["shell", "IN", "tree", "/", "-o", "json", "--at", "END"], ["shell", "IN", "diff", "300", "END"],
]  # fmt: skip


@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
def test_nothing_secret_is_shown(words: list[str], node: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    named = [{"IN": str(node), "END": str(_end(node))}.get(word, word) for word in words]
    assert run(named) in (0, 1)
    assert _found(capfdbinary.readouterr().out)  # else it would prove nothing
    assert run([*named, "--redact"]) in (0, 1)
    said = capfdbinary.readouterr().out
    assert not _found(said)
    assert PLAIN[1].encode() in said
    assert b"Traceback" not in said


@pytest.mark.parametrize("name", ["00000000000000000000.log.deleted", "00000000000000000000.log.1", "x.LOG", "link"])
def test_a_segment_by_another_name_is_redacted(
    name: str, node: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / name
    if name == "link":
        path.symlink_to(node / SEGMENT)
    else:
        shutil.copyfile(node / SEGMENT, path)
    assert run(["log", "dump", str(path)]) in (0, 1)
    assert _found(capfdbinary.readouterr().out)  # else it would prove nothing
    assert run(["log", "dump", str(path), "--redact"]) in (0, 1)
    said = capfdbinary.readouterr().out
    assert not _found(said)
    assert PLAIN[1].encode() in said


def _end(node: Path) -> int:
    """The end of the last sound batch whose records are all known."""
    return 381 + 1 + len(NAMES) + 1


def test_a_redacted_backup_holds_nothing_secret(node: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    assert run(["snapshot", "save", str(node), str(backup), "--at", str(_end(node)), "--redact"]) == 0
    assert not _found(backup.read_bytes())
    assert b"carol" in backup.read_bytes()


def test_nothing_is_restored_from_a_redacted_backup(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No user of it could log in. Of a whole backup the manifest says nothing of that, as before."""
    redacted, whole = tmp_path / "redacted", tmp_path / "whole"
    for path, words in ((redacted, ["--redact"]), (whole, [])):
        assert run(["snapshot", "save", str(node), str(path), "--at", str(_end(node)), *words]) == 0
    assert b'"redacted": true' in redacted.read_bytes()
    assert b"redacted" not in whole.read_bytes()
    assert run(["snapshot", "status", str(redacted), "-o", "json"]) == 0
    assert '"redacted": true' in capsys.readouterr().out

    assert run(["snapshot", "restore", str(redacted), str(tmp_path / "new"), "--node-id", "1"]) == 1

    assert "restore one that was saved without --redact" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert run(["snapshot", "restore", str(whole), str(tmp_path / "new"), "--node-id", "1"]) == 0


def test_a_mark_that_was_taken_off_is_found_out(node: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    assert run(["snapshot", "save", str(node), str(backup), "--at", str(_end(node)), "--redact"]) == 0
    content = backup.read_bytes()
    backup.write_bytes(content.replace(b'"redacted": true', b'"redacted":false'))
    assert run(["snapshot", "restore", str(backup), str(tmp_path / "new"), "--node-id", "1"]) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["recover", "inspect", "OUT"], ["recover", "standalone", "--dir", "NODE", "--copy", "OUT"],
        ["recover", "from-broker", "--broker-dir", "OUT", "--dir", "NEW", "--node-id", "1"],
        ["recover", "verify", "OUT"], ["check", "OUT"],
        ["log", "verify", "OUT"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_log_is_taken_from_a_redacted_export(
    words: list[str], node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    run(["log", "export", str(node), str(target), "-o", "jsonl", "--redact"])
    capsys.readouterr()

    assert run(
        [{"OUT": str(target), "NODE": str(node), "NEW": str(tmp_path / "new")}.get(word, word) for word in words]
    ) in (1, 2)

    assert "name an export made without --redact" in capsys.readouterr().err


def test_a_redacted_export_beside_nodes_is_passed_over(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is neither a log nor a damaged one."""
    run(["check", str(tmp_path), "-o", "json"])
    alone = capsys.readouterr().out
    run(["log", "export", str(node), str(tmp_path / "out"), "-o", "jsonl", "--redact"])
    capsys.readouterr()

    run(["check", str(tmp_path), "-o", "json"])

    assert capsys.readouterr().out == alone


def test_a_redacted_export_says_what_it_left_out(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A torn write at the end is no damage, as without the option."""
    assert run(["log", "export", str(node), str(tmp_path / "out"), "-o", "jsonl", "--redact"]) == 1
    said = capsys.readouterr().err
    assert "damaged bytes are left out, since they may hold credentials" in said
    assert "00000000000000000000.log, position" in said

    segment = node / SEGMENT
    segment.write_bytes(segment.read_bytes()[:-20])
    assert run(["log", "export", str(node), str(tmp_path / "torn"), "-o", "jsonl", "--redact"]) == 0
    done = capsys.readouterr()
    assert "bytes of an unfinished write at the end of the log" in done.out
    assert not done.err
    assert not any(_found(_text_of(path)) for path in tmp_path.glob("torn/**/*.*"))


def test_damage_within_a_log_hides_nothing_in_a_redacted_export(node: Path, tmp_path: Path) -> None:
    """A batch whose checksum is wrong, and one whose length is, before sound ones."""
    segment = node / SEGMENT
    content = bytearray(segment.read_bytes())
    at = content.index(PASSWORDS[0].encode())
    content[at - 3] ^= 0x40
    segment.write_bytes(content)

    assert run(["log", "export", str(node), str(tmp_path / "out"), "-o", "jsonl", "--redact"]) == 1

    assert not any(_found(_text_of(path)) for path in tmp_path.glob("out/**/*.*"))


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_redacted_export_is_decoded_tables_alone(form: str, node: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert run(["log", "export", str(node), str(target), "-o", form, "--redact"]) == 1, "its last batch is damaged"
    assert sorted(path.name for path in target.iterdir()) == ["decoded", "manifest.json"]
    assert json.loads((target / "manifest.json").read_bytes())["redacted"] is True
    files = [path for path in target.rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        assert not _found(_text_of(path)), path


def _text_of(path: Path) -> bytes:
    """The content; of batches the raw bytes, of a Parquet file its values."""
    if path.suffix == ".parquet":
        import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: PLC0415

        return repr(pyarrow.parquet.read_table(path).to_pylist()).encode() + b"".join(
            row["raw"] for row in pyarrow.parquet.read_table(path).to_pylist() if row.get("raw")
        )
    content = path.read_bytes()
    raw = (line.partition(b'"raw": "')[2].partition(b'"')[0] for line in content.splitlines())
    return content + b"".join(map(base64.b64decode, raw))


def test_an_export_says_that_it_holds_credentials(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["log", "export", str(node), str(tmp_path / "out")])
    assert capsys.readouterr().out.endswith("It holds credentials of 3 users: keep it as a secret.\n")


def test_redacted_exports_are_tables(node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "export", str(node), str(tmp_path / "out"), "--redact"]) == 2
    assert "writes decoded tables alone: add -o jsonl or -o parquet" in capsys.readouterr().err
    assert run(["log", "dump", str(node), "--redact", "--follow"]) == 2
