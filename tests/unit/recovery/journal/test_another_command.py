"""Another command than the one that was interrupted in a directory: refused; undo takes back what was interrupted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedFiles
from quorum.cli.main import run
from quorum.recovery.journal.carry_out import carry_out
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.repair_record import JOURNAL_FILE, encode, pending, work_root_of
from quorum.recovery.repairs.resume import Asked, resume
from tests.support.killed_repair import KILLED, status_of
from tests.support.misuses import NO_WAIT, OTHER_CLUSTER, contents
from tests.support.repair_cases import interrupted_on_disk, standalone, torn_survivor
from tests.support.repairs import AUTHOR, leftovers, outcome, tree, written_out


def said_of(capsys: pytest.CaptureFixture[str], status: int, *words: object) -> str:
    capsys.readouterr()
    assert run([*map(str, ["recover", *words])]) == status
    said = capsys.readouterr()
    return said.out + said.err


def old_bytes() -> dict[str, bytes]:
    return tree(torn_survivor(), "/data")


def test_undo_of_an_interrupted_repair_gives_the_old_bytes_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, new = interrupted_on_disk(tmp_path)
    before = contents(tmp_path)
    said = said_of(capsys, 0, "undo", "--dir", data)
    assert "which was interrupted, is finished, and then taken back" in said
    assert contents(tmp_path) == before
    said = said_of(capsys, 0, "undo", "--dir", data, "--apply")
    assert said.index("Finished what was interrupted: kraft recover standalone") < said.index(
        "Done: kraft recover undo"
    )
    assert tree(OsFiles(), str(data)) == old_bytes() != new
    assert not leftovers(OsFiles(), str(data))


def begun_on_disk(root: Path) -> Path:
    """Killed once it had staged its first new file, long before its journal."""
    written_out(torn_survivor(), root)
    words = f"recover standalone --dir {root}/data --missing rest {' '.join(NO_WAIT)} --apply".split()
    killed_at = 1
    while not leftovers(OsFiles(), f"{root}/data"):
        assert status_of(words, killed_at=killed_at) == KILLED
        killed_at += 1
    assert pending(OsFiles(), f"{root}/data") is None
    return root / "data"


def test_undo_of_a_repair_that_was_never_decided_removes_what_it_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = begun_on_disk(tmp_path)
    before = contents(tmp_path)
    said = said_of(capsys, 0, "undo", "--dir", data)
    assert f"`kraft recover standalone` was interrupted before it was decided: {data} is as it was" in said
    assert contents(tmp_path) == before
    said_of(capsys, 0, "undo", "--dir", data, "--apply")
    assert tree(OsFiles(), str(data)) == old_bytes()
    assert not leftovers(OsFiles(), str(data))
    assert not list((tmp_path / "data.recovery").iterdir())
    assert "holds no repair" in said_of(capsys, 1, "undo", "--dir", data, "--apply")


def test_undo_of_one_that_was_never_decided_leaves_the_repair_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, _ = interrupted_on_disk(tmp_path)
    said_of(capsys, 0, "standalone", "--dir", data, "--missing", "rest", *NO_WAIT, "--apply")
    repaired = tree(OsFiles(), str(data))
    words = ["recover", "cluster-id", "--dir", str(data), "--to", OTHER_CLUSTER, "--apply"]
    killed_at = 1
    while not leftovers(OsFiles(), str(data)):
        assert status_of(words, killed_at=killed_at) == KILLED
        killed_at += 1
    said_of(capsys, 0, "undo", "--dir", data, "--apply")
    assert tree(OsFiles(), str(data)) == repaired
    said_of(capsys, 0, "undo", "--dir", data, "--apply")
    assert tree(OsFiles(), str(data)) == old_bytes()


def test_programs_get_one_json_of_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, _ = interrupted_on_disk(tmp_path)
    told = json.loads(said_of(capsys, 0, "undo", "--dir", data, "--apply", "-o", "json"))
    assert [record["action"] for record in told["records"]] == ["standalone", "undo"]


def test_an_undo_that_was_interrupted_is_finished_and_that_is_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, _ = interrupted_on_disk(tmp_path)
    said_of(capsys, 0, "undo", "--dir", data, "--apply")
    [audit] = Path(f"{data}.recovery").glob("*-undo-*/audit.json")
    (data / JOURNAL_FILE).write_text(json.dumps({**json.loads(audit.read_text()), "state": "prepared"}))
    assert "run it again" in said_of(capsys, 1, "undo", "--dir", data)
    said = said_of(capsys, 0, "undo", "--dir", data, "--apply")
    assert "Finished what was interrupted: kraft recover undo" in said
    assert tree(OsFiles(), str(data)) == old_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ("voters", "--set", "1@a:1", "--missing", "rest", *NO_WAIT),
        ("truncate", "--to", 380, "--missing", "rest", *NO_WAIT),
        ("cluster-id", "--to", OTHER_CLUSTER, *NO_WAIT),
        ("rebuild-indexes",),
    ],
    ids=lambda words: words[0],
)
def test_another_command_is_refused_and_names_the_interrupted_one(
    words: tuple[object, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, _ = interrupted_on_disk(tmp_path)
    before = contents(tmp_path)
    said = said_of(capsys, 1, *words, "--dir", data, "--apply")
    assert "`kraft recover standalone` of 20" in said
    assert (
        f"was interrupted here, and this is another command: nothing was done. Finish that one first: {AUTHOR.command}"
        in said
    )
    assert f"or take it back: kraft recover undo --dir {data} --apply" in said
    assert contents(tmp_path) == before


def waiting(command: str) -> SimulatedFiles:
    """A directory with an interrupted `standalone` that was asked for in these words."""
    files = torn_survivor()
    files.fail_next("rename", path="meta.properties")
    assert outcome(files, standalone, "/data") is not None
    record = pending(files, "/data")
    assert record is not None
    handle = files.open(f"/data/{JOURNAL_FILE}")
    handle.truncate(0)
    handle.pwrite(encode(record).replace(AUTHOR.command.encode(), command.encode()), 0)
    return files


def test_the_same_command_with_other_words_is_another_one() -> None:
    said = "kraft recover standalone --dir /data --endpoint CONTROLLER://a:1 --apply"
    for other in ("--endpoint=CONTROLLER://b:1", "--epoch-gap 5"):
        asked = Asked(action="standalone", command=f"kraft recover standalone --dir /data --apply {other}")
        with pytest.raises(RefusedError, match="the same command with other words") as caught:
            resume(waiting(said), ["/data"], asked, work_root_of)
        assert said in str(caught.value)
    same = "kraft recover standalone --endpoint=CONTROLLER://a:1 --dir /data --apply -o json --timeout 9"
    [record] = resume(waiting(said), ["/data"], Asked(action="standalone", command=same), work_root_of)
    assert record.state == "done"


def test_no_other_repair_is_begun_over_a_journal() -> None:
    files = waiting("kraft recover standalone")
    [rewrite] = standalone(torn_survivor()).rewrites
    with pytest.raises(RefusedError, match="was interrupted here"):
        carry_out(files, rewrite, author=AUTHOR, work_root="/elsewhere")


@pytest.mark.parametrize(
    "words", [("standalone", "--missing", "rest", *NO_WAIT), ("undo",)], ids=lambda words: words[0]
)
def test_where_the_backup_is_gone_that_is_said_with_what_to_do(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, new = interrupted_on_disk(tmp_path)
    kept = Path(f"{data}.recovery").rename(tmp_path / "kept")
    before = contents(tmp_path)
    said = said_of(capsys, 1, *words, "--dir", data, "--apply")
    [work] = kept.iterdir()
    gone = Path(f"{data}.recovery") / work.name
    assert f"{gone} is gone: it holds backup and audit file" in said
    assert f"mkdir -p {gone}, then {AUTHOR.command}" in said
    assert "make room" not in said
    assert contents(tmp_path) == before
    gone.mkdir(parents=True)
    if words[0] == "undo":
        assert "is missing or damaged" in said_of(capsys, 1, *words, "--dir", data, "--apply")
        shutil.rmtree(gone.parent)
        kept.rename(gone.parent)
        said_of(capsys, 0, *words, "--dir", data, "--apply")
        assert tree(OsFiles(), str(data)) == old_bytes()
    else:
        said_of(capsys, 0, *words, "--dir", data, "--apply")
        assert tree(OsFiles(), str(data)) == new


def test_undo_asks_for_the_place_of_the_backup_before_it_finishes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, _ = interrupted_on_disk(tmp_path)
    before = contents(tmp_path)
    said = said_of(capsys, 1, "undo", "--dir", data, "--work", tmp_path / "other", "--apply")
    assert f"lies in {data}.recovery, not in {tmp_path}/other: kraft recover undo --dir {data} --apply" in said
    assert contents(tmp_path) == before


def test_a_recorded_command_means_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorum.cli.recover.author import author  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["kraft", "recover", "voters", "--dir", "c 1", "--copy=c2", "--set", "1@a:1", "--apply"]
    )
    line = f"kraft recover voters --dir '{tmp_path}/c 1' --copy={tmp_path}/c2 --set 1@a:1 --apply"
    assert author().command == line
