"""The table of Kafka's keys and the page made of it are fresh, and the page says what each used key means."""

from __future__ import annotations

from quorum.node.config.kafka_table import kafka_keys
from quorum.node.config.keys import ALIASES, KEYS
from quorum.node.config.providers import PROVIDERS
from tests.kafka_releases.config_keys import PAGE, main, page_text
from tests.kafka_releases.key_meanings import MEANINGS


def test_the_table_and_the_page_are_fresh() -> None:
    assert main(["--check"]) == 0


def test_a_page_that_was_edited_is_not_fresh() -> None:
    page = PAGE.read_text()
    edited = page.replace("| `num.io.threads` | INT |", "| `num.io.threads` | LONG |")
    assert edited != page
    assert page_text(edited, kafka_keys()) == page


def test_the_page_says_what_each_used_key_means() -> None:
    assert MEANINGS.keys() == {*KEYS, *ALIASES, PROVIDERS}
    assert all(f"| `{key}` | {meaning} |" in PAGE.read_text() for key, meaning in MEANINGS.items())
