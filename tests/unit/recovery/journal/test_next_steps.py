"""Steps hold their commands as printed lines and as data; older audit files hold the lines alone."""

from __future__ import annotations

import json

import pytest
from msgspec import UNSET

from metadata_log.errors import CorruptFileError
from metadata_log.files.simulated_files import SimulatedFiles
from quorum.cli.recover.show import step_data
from quorum.recovery.journal import version_1
from quorum.recovery.journal.next_steps import Command, RecoverCommand, Step, command, step_of
from quorum.recovery.journal.repair_facts import RepairFacts
from quorum.recovery.journal.repair_record import RepairRecord, again, encode, read_record

CUT = command("kraft", "recover", "truncate", "--dir", "/n 1", "--to", 7, "--copy", "/n2")
STEP = step_of(text="Do it", commands=(command("mv", "/n1", "/n2"), CUT.and_words("--apply")))


def test_a_command_is_printed_and_known_as_data() -> None:
    assert STEP.commands == ("mv /n1 /n2", "kraft recover truncate --dir '/n 1' --to 7 --copy /n2 --apply")
    assert STEP.recovers == (RecoverCommand(action="truncate", log_dirs=("/n 1",)),)
    assert step_data(STEP) == {"text": "Do it", "commands": STEP.commands}


@pytest.mark.parametrize(
    ("asked", "repairs"),
    [
        (CUT, True),
        (command("kraft", "recover", "verify", "/n1"), False),
        (command("kraft", "recover", "inspect", "/n1"), False),
        (command("kraft", "check", "/n1"), False),
        (Command("listeners=... (each controller its own)"), False),
    ],
)
def test_a_step_repairs_by_its_data(asked: Command, repairs: bool) -> None:
    assert step_of(text="Do it", commands=(asked,)).repairs is repairs


def record(*steps: Step) -> RepairRecord:
    return RepairRecord(
        state="done", action="voters", log_dir="/n1", work_dir="/n1.recovery/1", who="me@here",
        command="/opt/kraft recover voters --dir /n1 --dir /n2 --apply", at="then", at_ms=1, files=(),
        facts=RepairFacts(steps=steps, log_dirs=("/n1", "/n2")),
    )  # fmt: skip


def test_the_command_of_a_repair_is_known_by_its_record_where_the_directory_was_moved() -> None:
    found = again(record(), "/moved")
    assert str(found) == "/opt/kraft recover voters --dir /moved --dir /n2 --apply"
    assert found.recover == RecoverCommand(action="voters", log_dirs=("/moved", "/n2"))


def written(data: dict[str, object]) -> SimulatedFiles:
    files = SimulatedFiles()
    handle = files.open("/audit.json", create=True)
    handle.pwrite(json.dumps(data).encode(), 0)
    return files


def as_before(line: str | None = None) -> dict[str, object]:
    """Return the file as the first release of version 2 wrote it. `line`: in place of its commands."""
    data: dict[str, object] = json.loads(encode(record(STEP, Step(text="Wait"))))
    facts = data["facts"]
    assert isinstance(facts, dict)
    del facts["steps"][0]["recover"]
    if line is not None:
        facts["steps"][0]["commands"] = [line]
    return data


def test_a_file_with_the_data_is_read_as_it_was_written() -> None:
    data = json.loads(encode(record(STEP)))
    assert read_record(written(data), "/audit.json") == record(STEP)


def test_the_data_is_made_for_a_file_of_version_2_without_it() -> None:
    found = read_record(written(as_before()), "/audit.json")
    assert found.facts.steps == (STEP, Step(text="Wait"))
    assert found.facts.steps[1].recover is UNSET


def test_the_data_is_made_for_a_file_of_version_1() -> None:
    steps = [{"text": STEP.text, "commands": list(STEP.commands)}]
    assert version_1.facts_of({"steps": steps}).steps == (STEP,)


def test_a_command_that_no_release_wrote_is_damage() -> None:
    with pytest.raises(CorruptFileError, match=r"^/audit\.json: it is no record of a repair: a command of its steps"):
        read_record(written(as_before("kraft recover verify '/n1")), "/audit.json")
