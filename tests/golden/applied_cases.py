"""The applied repairs: each command on every fixture that it fits, some of them interrupted or one after another.

Decides: which. A repair that is refused here is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from metadata_log.files.simulated_files import SimulatedFiles
from tests.golden.applied import AppliedCase, Step
from tests.golden.applied_damage import damage_cases
from tests.golden.applied_scenes import (
    Damage,
    Moment,
    base_offsets,
    checkpoints,
    damaged_beginning,
    damaged_checkpoint,
    formatted,
    log_dir,
    missing_indexes,
    moment,
    moments,
    no_vote,
    segments,
    torn_tail,
    wrong_indexes,
)
from tests.golden.applied_steps import (
    LOSS,
    PLAIN,
    Asked,
    cluster_id,
    drop_snapshot,
    from_broker,
    rebuild_indexes,
    standalone,
    static_voters,
    trim,
    truncate,
    voters,
)

ARCHIVE: Final = "applied"
_CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qg"
_GAP: Final = Asked(gap=5000)


def applied_cases() -> Iterator[AppliedCase]:
    """Yield every case."""
    for one in moments():
        yield from _standalone(one)
        yield from _from_broker(one)
        yield from _voters(one)
        yield from _truncate(one)
        yield from _trim(one)
        yield from _drop_snapshot(one)
        yield from _rebuild_indexes(one)
        yield from _cluster_id(one)
    yield from _static_voters(moment("static-3.9"))
    yield from _of_a_divided_log()
    yield from _one_after_another()
    yield from _interrupted()
    yield from damage_cases()


def applied_texts() -> dict[str, str]:
    """Return the text of every case, by its name."""
    return {case.name: case.text() for case in applied_cases()}


def _case(name: str, make: Callable[[], SimulatedFiles], *steps: Step, is_interrupted: bool = False) -> AppliedCase:
    return AppliedCase(name=name, make=make, steps=steps, is_interrupted=is_interrupted)


def _of(at: Moment, *nodes: int, damage: Damage | None = None) -> Callable[[], SimulatedFiles]:
    return lambda: at.copied(*nodes, damage=damage)


def _dirs(nodes: tuple[int, ...]) -> list[str]:
    return [log_dir(node) for node in nodes]


def _standalone(at: Moment) -> Iterator[AppliedCase]:
    if at.is_static:
        return
    for node in at.controllers:
        name, target = f"standalone/{at.name}/node-{node}", log_dir(node)
        is_voter = (at.name, node) != ("dynamic-voters", 1)
        if is_voter:
            yield _case(f"{name}.alone", _of(at, node), standalone(target))
            is_added_last = at.name == "dynamic-voters/replaced-disk"  # then the torn write is what made it a voter
            yield _case(f"{name}.torn", _of(at, node, damage=torn_tail), standalone(target, is_moved=is_added_last))
        yield _case(f"{name}.moved", _of(at, node), standalone(target, asked=_GAP, is_moved=True))
        if at.brokers:
            step = standalone(target, *_dirs(at.brokers), asked=LOSS, is_moved=not is_voter)
            yield _case(f"{name}.beside-brokers", _of(at, node, *at.brokers), step)
    node = at.controllers[-1]
    step = standalone(log_dir(node), asked=Asked(lost_vote=True, work="/work"))
    yield _case(f"standalone/{at.name}/node-{node}.no-vote", _of(at, node, damage=no_vote), step)


def _from_broker(at: Moment) -> Iterator[AppliedCase]:
    for node in at.brokers:
        name = f"from-broker/{at.name}/node-{node}"
        yield _case(f"{name}.alone", _of(at, node), from_broker([log_dir(node)]))
        yield _case(f"{name}.torn", _of(at, node, damage=torn_tail), from_broker([log_dir(node)], node=9))
    if not at.brokers:
        return
    best = from_broker(_dirs(at.brokers), asked=_GAP)
    yield _case(f"from-broker/{at.name}/best", _of(at, *at.brokers), best)
    controller = at.controllers[0]
    beside = from_broker(_dirs(at.brokers), log_dir(controller), node=controller, asked=LOSS)
    yield _case(f"from-broker/{at.name}/beside-a-controller", _of(at, *at.brokers, controller), beside)

    def with_a_formatted_one() -> SimulatedFiles:
        files = at.copied(at.brokers[0])
        formatted(files, "/new", f"version=1\nnode.id=3\ndirectory.id=AAAAAAAAAAAAAAAAAAAx6w\ncluster.id={_CLUSTER}\n")
        return files

    into = from_broker([log_dir(at.brokers[0])], node=3, asked=Asked(work="/work"))
    yield _case(f"from-broker/{at.name}/formatted", with_a_formatted_one, into)


def _voters(at: Moment) -> Iterator[AppliedCase]:
    if at.is_static:
        return
    name, dirs = f"voters/{at.name}", _dirs(at.controllers)
    members = [f"{node}@host{node}:9{node}" for node in at.controllers]
    yield _case(f"{name}/all", _of(at, *at.controllers), voters(dirs, members, asked=LOSS))
    yield _case(f"{name}/first", _of(at, at.controllers[0]), voters(dirs[:1], members[:1], asked=_GAP))
    if len(dirs) == 1:
        return
    last = tuple(at.controllers[-2:])
    two = voters(_dirs(last), [f"{node}@host{node}:9093/9094" for node in last], *_dirs(at.brokers), asked=LOSS)
    yield _case(f"{name}/two.beside-brokers", _of(at, *last, *at.brokers), two)
    torn = voters(dirs, members, asked=Asked(loss=True, work="/work"))
    yield _case(f"{name}/all.torn", _of(at, *at.controllers, damage=torn_tail), torn)

    def with_a_new_one() -> SimulatedFiles:
        files = at.copied(*at.controllers)
        formatted(files, "/n9", f"version=1\nnode.id=9\ndirectory.id=AAAAAAAAAAAAAAAAAAAx6w\ncluster.id={_CLUSTER}\n")
        return files

    new = voters([*dirs, "/n9"], [*members, "9@host9:99"], asked=LOSS)
    yield _case(f"{name}/one-more", with_a_new_one, new)


def _static_voters(at: Moment) -> Iterator[AppliedCase]:
    def members(*nodes: int) -> list[str]:
        return [f"{node}@host{node}:9093" for node in nodes]

    everyone = at.controllers
    for node in everyone:
        one = static_voters([log_dir(node)], members(node))
        yield _case(f"static-voters/{at.name}/node-{node}.alone", _of(at, node), one)
        torn = static_voters([log_dir(node)], members(node), asked=_GAP)
        yield _case(f"static-voters/{at.name}/node-{node}.torn", _of(at, node, damage=torn_tail), torn)
        beside = static_voters([log_dir(node)], members(node), *_dirs(at.brokers), asked=LOSS)
        yield _case(f"static-voters/{at.name}/node-{node}.beside-brokers", _of(at, node, *at.brokers), beside)
    yield _case(f"static-voters/{at.name}/all", _of(at, *everyone), static_voters(_dirs(everyone), members(*everyone)))
    two = static_voters(_dirs(everyone[:2]), members(*everyone[:2]), asked=LOSS)
    yield _case(f"static-voters/{at.name}/two", _of(at, *everyone[:2]), two)
    alone = static_voters([log_dir(everyone[1])], members(everyone[1]))
    again = static_voters(_dirs(everyone), members(*everyone), asked=LOSS)
    yield _case(f"static-voters/{at.name}/alone-then-all", _of(at, *everyone), alone, again)


def _truncate(at: Moment) -> Iterator[AppliedCase]:
    for node in at.nodes:
        name, target = f"truncate/{at.name}/node-{node}", log_dir(node)
        files = at.copied(node)
        offsets = base_offsets(files, target)
        begins = {int(path.rpartition("/")[2][:20]) for path in segments(files, target)[1:]}
        for offset in sorted({offsets[len(offsets) * 9 // 10], offsets[-1], *begins}):
            yield _case(f"{name}.to-{offset}", _of(at, node), truncate(target, offset, asked=LOSS))
        torn = truncate(target, offsets[-1])
        yield _case(f"{name}.torn", _of(at, node, damage=torn_tail), torn)


def _trim(at: Moment) -> Iterator[AppliedCase]:
    for node in at.nodes:
        files, target = at.copied(node), log_dir(node)
        begin, found = base_offsets(files, target)[1], checkpoints(files, target)
        newest = int(found[-1].rpartition("/")[2][:20]) if found else 0
        if newest > begin:
            make = _of(at, node, damage=damaged_beginning)
            yield _case(f"trim/{at.name}/node-{node}.before-{newest}", make, trim(target, newest))


def _drop_snapshot(at: Moment) -> Iterator[AppliedCase]:
    for node in at.nodes:
        target = log_dir(node)
        found = checkpoints(at.copied(node), target)
        if len(found) > 1:
            name, make = f"drop-snapshot/{at.name}/node-{node}", _of(at, node, damage=damaged_checkpoint)
            yield _case(name, make, drop_snapshot(target))
            named = drop_snapshot(target, name=found[-1].rpartition("/")[2], asked=Asked(work="/work"))
            yield _case(f"{name}.named", make, named)


def _rebuild_indexes(at: Moment) -> Iterator[AppliedCase]:
    for node in at.nodes:
        for kind, damage in (("wrong", wrong_indexes), ("missing", missing_indexes)):
            step = rebuild_indexes(log_dir(node))
            yield _case(f"rebuild-indexes/{at.name}/node-{node}.{kind}", _of(at, node, damage=damage), step)


def _cluster_id(at: Moment) -> Iterator[AppliedCase]:
    for node in at.nodes:
        yield _case(f"cluster-id/{at.name}/node-{node}", _of(at, node), cluster_id(log_dir(node), is_a_clone=True))
    yield _case(f"cluster-id/{at.name}/all", _of(at, *at.nodes), cluster_id(*_dirs(at.nodes)))


def _of_a_divided_log() -> Iterator[AppliedCase]:
    """Yield repairs of a replica that diverged or fell behind, beside the others of its quorum."""
    others = moment("failovers")
    for name, offset in (("divergent-before", 316), ("divergent-after", 320), ("lagging-follower", 20)):
        one = moment(f"failovers/{name}")

        def make(one: Moment = one) -> SimulatedFiles:
            return others.copied(1, 3, beside=one.copied(2))

        asked = PLAIN if name == "divergent-before" else LOSS
        yield _case(f"truncate/{one.name}/beside-others", make, truncate("/n2", offset, "/n1", "/n3", asked=asked))
        members = [f"{node}@host{node}:9{node}" for node in (1, 2, 3)]
        yield _case(f"voters/{one.name}/beside-others", make, voters(["/n1", "/n2", "/n3"], members))
        two = voters(["/n1", "/n2"], members[:2], "/n3", asked=LOSS)
        yield _case(f"voters/{one.name}/two", make, two)


def _one_after_another() -> Iterator[AppliedCase]:
    """Yield repairs of directories that were repaired before; `undo` takes all of them back."""
    basic, failovers, every = moment("basic"), moment("failovers"), moment("every-record")
    renamed = cluster_id("/n1", "/n2", "/n11", is_a_clone=True)
    yield _case("one-after-another/cluster-id-standalone", _of(basic, 1, 2, 11), renamed, standalone("/n2", asked=LOSS))
    cut, alone = truncate("/n1", 294, asked=LOSS), standalone("/n1")
    yield _case("one-after-another/truncate-standalone", _of(failovers, 1), cut, alone)
    dropped = drop_snapshot("/n1")
    yield _case(
        "one-after-another/drop-standalone", _of(every, 1, damage=damaged_checkpoint), dropped, standalone("/n1")
    )
    made, moved = from_broker(["/n11", "/n12"]), voters(["/new"], ["1@there:9193"])
    yield _case("one-after-another/from-broker-voters", _of(failovers, 11, 12), made, moved)
    three = voters(["/n1", "/n2", "/n3"], [f"{node}@host{node}:9093" for node in (1, 2, 3)], asked=LOSS)
    yield _case("one-after-another/standalone-voters", _of(basic, 1, 2, 3), standalone("/n2", asked=LOSS), three)
    rebuilt = rebuild_indexes("/n3")
    yield _case("one-after-another/rebuild-standalone", _of(every, 3, damage=wrong_indexes), rebuilt, standalone("/n3"))


def _interrupted() -> Iterator[AppliedCase]:
    """Yield one of each repair that stops after its decision, and is finished by the same command."""
    basic, failovers, every = moment("basic"), moment("failovers"), moment("every-record")
    members = [f"{node}@host{node}:9093" for node in (1, 2, 3)]
    three = _of(basic, 1, 2, 3)
    cases: tuple[tuple[Callable[[], SimulatedFiles], Step], ...] = (
        (_of(every, 1, damage=torn_tail), standalone("/n1")),
        (_of(failovers, 11, 12), from_broker(["/n11", "/n12"])),
        (three, voters(["/n1", "/n2", "/n3"], members)),
        (_of(moment("static-3.9"), 1, 2, 3), static_voters(["/n1", "/n2", "/n3"], members)),
        (_of(failovers, 12), truncate("/n12", 294, asked=LOSS)),
        (_of(every, 1, damage=damaged_checkpoint), drop_snapshot("/n1", asked=Asked(work="/work"))),
        (_of(every, 1, damage=wrong_indexes), rebuild_indexes("/n1")),
        (three, cluster_id("/n1", "/n2", "/n3")),
    )
    for make, step in cases:
        yield _case(f"interrupted/{step.action}", make, step, is_interrupted=True)
    begun = _of(failovers, 11, damage=damaged_beginning)
    yield _case("interrupted/trim", begun, trim("/n11", 310), is_interrupted=True)
    yield AppliedCase(
        name="interrupted/moved",
        make=_of(every, 1, damage=torn_tail),
        steps=(standalone("/n1"), standalone("/elsewhere", asked=Asked(work="/n1.recovery"))),
        is_interrupted=True,
        moved=("/n1", "/elsewhere"),
    )
