"""Facts: a kind that is known, one place for the sentence, and no key of JSON output."""

from __future__ import annotations

import inspect

import msgspec

from metadata_log.tools.findings import facts
from metadata_log.tools.findings.advice import AUDIT, KEEP_PROOF, RESTORE, SET_ASIDE
from metadata_log.tools.findings.facts import CorruptBatch, Facts, LogCut
from metadata_log.tools.findings.finding import KINDS, finding, printed, with_facts
from metadata_log.tools.findings.remedy import Advice
from metadata_log.tools.findings.sink import FindingSink

CLASSES = [each for _, each in inspect.getmembers(facts, inspect.isclass) if issubclass(each, Facts)]
CUT = LogCut(ends_at=5, reached=9, proof="9.snapshot", others=(("8.index", 8),), is_unproven=True)


def test_every_class_is_of_a_known_kind() -> None:
    kinds = {each.__name__: each.kind for each in CLASSES if hasattr(each, "kind")}
    assert {"CorruptBatch", "LogCut", "Misnamed"} <= kinds.keys()
    assert set(kinds.values()) <= KINDS.keys()


def test_a_finding_of_facts_has_their_kind_and_sentence() -> None:
    sink = FindingSink(node_id=1)
    sink.add(CorruptBatch(size=7, fault="its checksum is wrong"), file="0.log", offset=3)
    (found,) = sink.findings
    assert (found.kind, found.meaning) == ("corrupt_batch", "7 bytes are no sound batch: its checksum is wrong")
    assert isinstance(found.facts, CorruptBatch)


def test_json_output_has_the_keys_that_it_had() -> None:
    row = msgspec.to_builtins(printed(finding(CUT, file="0.log")))
    assert list(row) == [
        "kind",
        "severity",
        "node_id",
        "file",
        "position",
        "offset",
        "epoch",
        "topic_id",
        "meaning",
        "advice",
    ]
    assert row["advice"] == str(KEEP_PROOF)


def test_other_facts_bring_their_sentence() -> None:
    proved = msgspec.structs.replace(CUT, is_unproven=False, committed_before=8, because="most say so")
    said = "the log ends at offset 5, but 9.snapshot proves that it reached 9 (so do others: 8.index to 8)"
    assert CUT.meaning() == f"{said}; nothing here proves that the missing records were committed"
    assert with_facts(finding(CUT), proved).meaning == f"{said}; all before offset 8 was committed (most say so)"


def test_directories_are_words_of_a_command() -> None:
    named = SET_ASIDE.in_directories(["/a b", "/c"])
    assert named.command[:5] == (*AUDIT[:3], "/a b", "/c")
    assert "(kraft storage audit '/a b' /c --image CONTROLLER --quarantine, while" in str(named)


def test_other_advice_takes_the_place_of_an_end() -> None:
    both = Advice("look first; else ", otherwise=RESTORE)
    other = Advice("keep it")
    assert str(both.with_other({RESTORE: other})) == "look first; else keep it"
    assert both.with_other({KEEP_PROOF: other}) == both
