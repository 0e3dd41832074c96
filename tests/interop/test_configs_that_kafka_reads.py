"""A node's file with config providers means to us what it means to Kafka."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Final

import pytest

from quorum.node.config.properties import parse_properties
from tests.support.kafka.verdicts import both_verdicts

pytestmark = pytest.mark.campaign

_CLASS: Final = "org.apache.kafka.common.config.provider."
_NAMES: Final = ("q,p", "q, p", "p ,q", "p,p", " p ", ",p", "", "q")
_ENVIRONMENT: Final = ("HOME", "PATH", "NO_SUCH_VARIABLE_HERE")


def _files(folder: Path) -> dict[str, bytes]:
    """Return files with each reference for each way to bound what its provider gives."""
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    for place in ("in", "out"):
        (folder / place / "one.properties").write_text("key=va\\u006cue\\n\nspaced = a b \nutf=é\n", encoding="utf-8")
        (folder / place / "bytes").write_bytes(b"\xff\xfe")
    paths = [
        f"{folder}/{at}" for at in ("in/one.properties", "in/../out/one.properties", "out/one.properties", "in/no")
    ]
    keys = ("key", " spaced", "utf ", "none")
    files = [f"${{p:{path}:{key}}}" for path, key in itertools.product(paths, keys)]
    directories = [
        f"${{p:{folder}/{at}:{key}}}"
        for at, key in itertools.product(
            ("in", "in/../out", "no", "in/bytes", "in/away", "alias"), ("one.properties", "bytes", "x", "..", "link")
        )
    ]
    variables = [f"${{p:{name}}}" for name in (*_ENVIRONMENT, "", " HOME ", "a:HOME")]
    texts = ["$", "${", "${p}", "${q:HOME}", "a${p:HOME}${p:HOME}b", "${p:HO${p:HOME}ME}", "$${p:HOME}}", "${p:a:b:c}"]
    patterns = ("", "HO.*", "HOME|PATH", "OM", "(")
    bounds = (
        "",
        f"{folder}/in",
        f"{folder}/in/../out,{folder}/in",
        "relative",
        f"{folder}/absent",
        "/",
        f"{folder}/alias",
    )
    cases = [
        *_cases("FileConfigProvider", "allowed.paths", bounds, files),
        *_cases("DirectoryConfigProvider", "allowed.paths", bounds, directories),
        *_cases("EnvVarConfigProvider", "allowlist.pattern", patterns, [*variables, *texts]),
        *(f"config.providers={names}\n{_class_of_p('EnvVarConfigProvider')}a=${{p:HOME}}\n" for names in _NAMES),
    ]
    return {f"{number:04}": text.encode("latin-1") for number, text in enumerate(cases)}


def _class_of_p(kind: str) -> str:
    return f"config.providers.p.class={_CLASS}{kind}\n"


def _cases(kind: str, parameter: str, bounds: tuple[str, ...], values: list[str]) -> list[str]:
    return [
        f"config.providers=p\n{_class_of_p(kind)}"
        + (f"config.providers.p.param.{parameter}={bound}\n" if bound else "")
        + f"a={value}\n"
        for bound, value in itertools.product(bounds, values)
    ]


def _reads(data: bytes) -> str:
    """Return the verdict as the Java program prints it."""
    found = parse_properties(data.decode("latin-1"))
    if found.errors:
        return "refused"
    return ";".join(sorted(f"{_units(key)}={_units(value)}" for key, value in found.values.items()))


def _units(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()


def test_both_resolve_the_same_references(tmp_path: Path) -> None:
    assert "HOME" in os.environ
    data, configs = tmp_path / "data", tmp_path / "configs"
    data.mkdir()
    configs.mkdir()
    written = _files(data)
    theirs, ours = both_verdicts("ReadConfigs.java", written, configs, _reads)
    assert {written[name]: (verdict, ours[name]) for name, verdict in theirs.items() if ours[name] != verdict} == {}
    refused = sum(verdict == "refused" for verdict in theirs.values())
    assert len(theirs) > 300
    assert refused > 50
