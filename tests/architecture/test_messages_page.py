"""The page of messages has each message of the product once, under its kind."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.messages_page import Message, messages, messages_of, page

ROOT = Path(__file__).parents[2]
_MODULE = '''
"""A docstring is no message."""

def refuse(log, value, option):
    "Nor is this."
    option("--value", help="a help text is not one either")
    log.info("a line of the log", value=value)
    if value:
        raise ValueError(f"{value.name} is no value: give another")
    yield Error.NONE, "refused for a reason"
    return Advice("stop the node, then ask"), "two words", rejected(Error.NONE, message="no such topic here")


class LogCut:
    def meaning(self):
        return "the log ends too early"
'''


def test_each_text_has_the_kind_of_its_use() -> None:
    assert [message[2:] for message in messages_of("quorum/module.py", _MODULE)] == [
        ("log", "a line of the log"),
        ("error", "{value.name} is no value: give another"),
        ("refusal", "refused for a reason"),
        ("advice", "stop the node, then ask"),
        ("refusal", "no such topic here"),
        ("finding", "the log ends too early"),
    ]


def test_the_page_has_a_section_for_each_folder_and_a_block_for_each_kind() -> None:
    found = [
        Message("quorum/raft/a.py", 7, "text", "one and two"),
        Message("quorum/a.py", 8, "error", "no such file {x}"),
    ]
    assert page(found).splitlines()[4:] == [
        "## quorum", "", "### error: 1", "", "```text", "no such file {x}    a.py:8", "```", "",
        "## quorum/raft", "", "### text: 1", "", "```text", "one and two    a.py:7", "```",
    ]  # fmt: skip


def test_the_product_has_messages_of_every_kind_in_every_package() -> None:
    found = list(messages(ROOT))
    assert {message.kind for message in found} == {"error", "refusal", "finding", "advice", "log", "text"}
    assert {message.path.partition("/")[0] for message in found} == {"kraft", "quorum", "metadata_log", "broker_agent"}
