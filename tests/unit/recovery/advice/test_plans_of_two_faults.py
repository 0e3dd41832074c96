"""Plans for clusters with faults are carried out as printed, and leave a quorum that `verify` and `check` accept."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.carried_out import carry_out, change_addresses, inspect_plan
from tests.support.misuses import NO_WAIT, Bench, edited, flipped, last_segment, metadata, standalone
from tests.support.one_fault import forged_checkpoint

EPOCHS, VOTE = "leader-epoch-checkpoint", "quorum-state"
LOST_VOTE = "--accept-lost-vote"
LED_9, LED_11 = '"leaderId":3,"leaderEpoch":9', '"leaderId":1,"leaderEpoch":11'


def as_directory(node: Path, name: str) -> Path:
    """Put a directory in the place of a file beside the log."""
    path = metadata(node) / name
    path.unlink()
    path.mkdir()
    return node


def rubbish(node: Path, name: str) -> Path:
    (metadata(node) / name).write_bytes(b"rubbish")
    return node


def cut(node: Path) -> Path:
    """Damage the last segment in its middle."""
    flipped(last_segment(node), 2000)
    return node


def forged(node: Path) -> Path:
    assert forged_checkpoint(metadata(node), random.Random(7))
    return node


def began_badly(node: Path) -> Path:
    """Damage a batch before the checkpoint's end: the log is intact from there on."""
    flipped(last_segment(node), 5337 + 60)
    return node


def torn(node: Path) -> Path:
    """Leave a part of the last batch, without the indexes that would prove it whole."""
    for path in (*metadata(node).glob("*.index"), *metadata(node).glob("*.timeindex")):
        path.unlink()
    with last_segment(node).open("r+b") as log:
        log.truncate(last_segment(node).stat().st_size - 30)
    return node


def without(node: Path, name: str) -> Path:
    (metadata(node) / name).unlink()
    return node


def changed(node: Path, name: str, text: str, to: str) -> Path:
    """Change a file beside the log, which can still be read."""
    path = metadata(node) / name
    before = path.read_text()
    assert text in before
    path.write_text(before.replace(text, to))
    return node


def failovers(bench: Bench) -> list[Path]:
    return [bench.node("failovers", node) for node in (1, 2, 3)]


def in_the_way(bench: Bench) -> list[Path]:
    """Name a checkpoint beyond all epochs: it is damaged, and in the way."""
    node = bench.node("basic", 2)
    (metadata(node) / "00000000000000000096-9999999999.checkpoint").write_bytes(b"rubbish")
    return [bench.node("basic", 1), node, bench.node("basic", 3)]


PLANS: Sequence[tuple[str, Callable[[Bench], list[Path]], tuple[str, ...]]] = (
    (
        "an epoch file that is a directory",
        lambda b: [as_directory(b.node("failovers", 1), EPOCHS), b.node("failovers", 2)],
        ("mv", "recover rebuild-indexes"),
    ),
    (
        "an epoch file that is missing",
        lambda b: [*failovers(b)[:2], without(b.node("failovers", 3), EPOCHS)],
        ("recover rebuild-indexes",),
    ),
    (
        "epoch files that lack an epoch, have another one, or are missing",
        lambda b: [
            changed(b.node("failovers", 1), EPOCHS, "\n8\n1 244\n3 253\n", "\n7\n1 244\n"),
            changed(b.node("failovers", 2), EPOCHS, "5 270", "5 271"),
            without(b.node("failovers", 3), EPOCHS),
        ],
        ("recover rebuild-indexes",) * 3,
    ),
    (
        "an epoch file that is missing beside an unfinished write",
        lambda b: [without(torn(b.node("upgrade-path", 3)), EPOCHS), *(b.node("upgrade-path", n) for n in (1, 2))],
        ("recover truncate",),
    ),
    (
        "an epoch file that is missing beside a damaged beginning",
        lambda b: [without(began_badly(b.node("upgrade-path", 3)), EPOCHS), b.node("upgrade-path", 2)],
        ("recover truncate",),
    ),
    (
        "an epoch file that is missing, and too few voters",
        lambda b: [without(b.node("failovers", 3), EPOCHS), b.node("failovers", 11)],
        ("recover rebuild-indexes", "recover standalone", "recover standalone"),
    ),
    (
        "a leader without its epoch, and a majority that holds all records",
        lambda b: [*failovers(b)[:1], changed(b.node("failovers", 2), VOTE, LED_9, LED_11), *failovers(b)[2:]],
        (),
    ),
    (
        "a survivor whose quorum-state is a directory",
        lambda b: [as_directory(b.node("basic", 1), VOTE), b.node("basic", 11)],
        ("mv", "recover standalone", "recover standalone"),
    ),
    (
        "an unreadable vote beside a damaged log",
        lambda b: [rubbish(b.node("basic", 1), VOTE), cut(b.node("basic", 2)), b.node("basic", 3)],
        ("recover standalone", "recover standalone"),
    ),
    (
        "an unreadable vote, and brokers alone",
        lambda b: [rubbish(b.node("basic", 11), VOTE), b.node("basic", 12)],
        ("recover from-broker", "recover from-broker"),
    ),
    (
        "an unreadable vote of static voters",
        lambda b: [rubbish(b.node("static-3.9", 2), VOTE), b.node("static-3.9", 11)],
        ("recover static-voters", "recover static-voters"),
    ),
    (
        "a forged checkpoint of a lone survivor",
        lambda b: [forged(b.node("every-record", 1))],
        ("recover standalone", "recover standalone"),
    ),
    (
        "a forged checkpoint, and a voter that is not here",
        lambda b: [forged(b.node("upgrade-path", 1)), b.node("upgrade-path", 2)],
        ("recover drop-snapshot",),
    ),
    ("a damaged checkpoint in the way", in_the_way, ("mv",)),
    (
        "a damaged beginning, and an unfinished write at the end",
        lambda b: [torn(began_badly(b.node("upgrade-path", 3))), b.node("upgrade-path", 2)],
        ("recover truncate",),
    ),
)


@pytest.mark.parametrize(("name", "make", "commands"), PLANS, ids=[name for name, _, _ in PLANS])
def test_a_plan_is_carried_out(
    name: str,
    make: Callable[[Bench], list[Path]],
    commands: tuple[str, ...],
    bench: Bench,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert carry_out(capsys, bench.root, make(bench)).ran == commands


@pytest.mark.parametrize("wrong", [3, 11])
def test_new_addresses_are_written_without_the_copy_that_contradicts_the_voters(
    wrong: int, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [bench.node("basic", node) for node in (1, 2, 3, 11)]
    edited(bench, wrong)
    plan = inspect_plan(capsys, nodes)
    words = change_addresses(capsys, bench.root, plan)
    assert f"basic-{wrong}" not in " ".join(words)
    assert str(wrong) in words[words.index("--missing") + 1].split(",")


@pytest.mark.parametrize("make", [rubbish, as_directory])
def test_new_addresses_carry_what_a_lost_vote_needs(
    make: Callable[[Path, str], Path], bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [bench.node("basic", 1), bench.node("basic", 2), make(bench.node("basic", 3), VOTE)]
    plan = inspect_plan(capsys, nodes)
    assert LOST_VOTE in change_addresses(capsys, bench.root, plan)
    (step,) = (step for step in plan.steps if any("recover voters" in line for line in step.commands))
    assert f"{metadata(nodes[2])}/{VOTE} held an epoch and a vote, which cannot be read" in step.text


def test_no_vote_is_given_up_where_all_can_be_read(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    plan = inspect_plan(capsys, [bench.node("basic", 1), bench.node("basic", 11)])
    assert LOST_VOTE not in str(plan)


@pytest.mark.parametrize("name", [EPOCHS, VOTE])
def test_the_log_beside_an_unreadable_file_is_judged(
    name: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node = as_directory(bench.node("failovers", 1), name)
    (copy,) = inspect_plan(capsys, [node]).copies
    assert copy.end_offset == 326
    assert f"{name}: it cannot be read: Is a directory" in str(copy.fault)


def test_a_leader_without_its_epoch_is_held_while_too_few_others_are_here(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [bench.node("failovers", 1), changed(bench.node("failovers", 2), VOTE, LED_9, LED_11)]
    assert not any("tart controllers" in step.text for step in inspect_plan(capsys, nodes).steps)
    assert run(["recover", "verify", *map(str, nodes)]) == 1
    assert "it says that node 1 leads epoch 11" in capsys.readouterr().out.partition("WRONG: ")[2]


def test_a_repair_beside_a_majority_names_the_epoch_file_to_rebuild(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = bench.node("failovers", 1), without(bench.node("failovers", 3), EPOCHS)
    assert run(["recover", *map(str, standalone(bench, first, "--copy", second)), *NO_WAIT]) == 1
    line = f"kraft recover rebuild-indexes --dir {second} --apply"
    assert f"repair what keeps them from starting ({line}), start them" in capsys.readouterr().err
