"""The facts of one release: from the schemas in its jars, and from a Java program that asks its classes."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.kafka_releases.schemas import Facts, read_schemas, schema_facts
from tests.support.kafka.jars import cache_directory, class_path, kafka_jars
from tests.support.made_once import made_once

LEVEL: Final = "metadata.version"
FEATURE_LEVEL: Final = "feature level"
UNSTABLE_FEATURE_LEVEL: Final = "feature level that is not in production"
LEVEL_PREDICATE: Final = "what a metadata.version allows"
RECORD_AT_LEVEL: Final = "version of a record at each metadata.version"
ERROR_CODE: Final = "error code"
CONTROL_TYPE: Final = "control record type"
TOPIC_CONFIG: Final = "topic config"
GROUP_CONFIG: Final = "group config"
METRICS_CONFIG: Final = "client metrics config"
BROKER_CONFIG: Final = "broker config"
MAIN_CLASS: Final = "main class"

_SOURCE: Final = Path(__file__).with_name("ReleaseFacts.java")
_PROGRAMS: Final = ("kafka_2.13", "kafka-tools", "kafka-shell")
_JAVA_S: Final = 120


class NotReadError(RuntimeError):
    """A release of which not all facts could be read; the text says what to do."""


def release_facts(version: str) -> Facts:
    """Return the facts of a published release, whose jars Maven brings.

    Raises:
        NotReadError: jars are missing or a class of Kafka has moved.
    """
    try:
        jars = kafka_jars(version)
    except (RuntimeError, LookupError, subprocess.CalledProcessError) as error:
        raise NotReadError(
            f"the jars of Kafka {version} could not be brought: {error}. If only its kafka-shell is not published, "
            "add the release to RELEASES in tests/support/kafka/jars.py, with has_shell=False"
        ) from None
    kafkas = sorted(jars.glob("kafka*.jar"))
    return {**schema_facts(read_schemas(kafkas)), **class_facts(_ask_classes(version, jars, kafkas))}


def _ask_classes(version: str, jars: Path, kafkas: Iterable[Path]) -> str:
    programs = [str(jar) for jar in kafkas if jar.name in {f"{name}-{version}.jar" for name in _PROGRAMS}]
    words = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{_compiled()}:{class_path(jars)}"]
    try:
        done = subprocess.run(
            [*words, "ReleaseFacts", *programs], capture_output=True, text=True, timeout=_JAVA_S, check=False
        )
    except FileNotFoundError:
        raise NotReadError("java is not here: install a JDK of Java 17 or newer") from None
    if done.returncode != 0:
        raise NotReadError(
            f"the classes of Kafka {version} could not be asked: {done.stderr.strip()[-2000:]}. If a class has moved, "
            f"add its new name in {_SOURCE.name}"
        )
    return done.stdout


def _compiled() -> Path:
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]

    def compile_to(partial: Path) -> None:
        subprocess.run(["javac", "-proc:none", "-d", str(partial), str(_SOURCE)], check=True)

    try:
        return made_once(cache_directory() / f"release-facts-{digest}", compile_to)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise NotReadError(f"javac could not compile {_SOURCE.name}: {error}") from None


def class_facts(printed: str) -> Facts:
    """Return the facts in the lines that `ReleaseFacts` prints: area, name, attribute and value, with tabs between.

    Raises:
        NotReadError: a line has another form.
    """
    facts: Facts = {}
    for line in printed.splitlines():
        columns = line.split("\t")
        if len(columns) != 4:
            raise NotReadError(f"ReleaseFacts printed a line without four columns: {line!r}")
        area, name, attribute, value = (column.replace("\\t", "\t").replace("\\\\", "\\") for column in columns)
        facts.setdefault(area, {}).setdefault(name, {})[attribute] = value
    _split_features(facts)
    return facts


def _split_features(facts: Facts) -> None:
    """Move the levels that are not in production to an area of their own, and drop level 0, which is off."""
    rows = {name: row for name, row in facts.get(FEATURE_LEVEL, {}).items() if not name.endswith(" 0")}
    facts[FEATURE_LEVEL] = {name: row for name, row in rows.items() if row.get("production") == "true"}
    facts[UNSTABLE_FEATURE_LEVEL] = {name: row for name, row in rows.items() if row.get("production") != "true"}


def add_first_support(before: Facts, after: Facts) -> None:
    """Note at each feature level that the older release lacks from which metadata.version on software supports it.

    That is the first metadata.version which the older release does not have in production.
    """
    old = [int(level) for level, row in before.get(LEVEL, {}).items() if row.get("production") == "true"]
    for name, row in after.get(FEATURE_LEVEL, {}).items():
        if name not in before.get(FEATURE_LEVEL, {}) and old:
            row["supported since"] = str(max(old) + 1)
