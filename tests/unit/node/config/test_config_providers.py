"""References in the values of a file, as Kafka's config providers resolve them."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.node.config.node_config import config_of, load_config
from quorum.node.config.properties import Properties, parse_properties
from quorum.node.config.values import ConfigError

CONTROLLER = ["process.roles=controller", "listeners=CONTROLLER://c1:9093", "log.dirs=/data", "node.id=1"]
CLASS = "org.apache.kafka.common.config.provider."


def _parsed(*lines: str) -> Properties:
    return parse_properties("\n".join(lines))


def _configured(name: str, kind: str, **options: str) -> list[str]:
    given = [f"config.providers={name}", f"config.providers.{name}.class={CLASS}{kind}"]
    return [
        *given,
        *(f"config.providers.{name}.param.{key.replace('_', '.')}={value}" for key, value in options.items()),
    ]


def test_environment_variables_are_given_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRAFT_ID", "7")
    monkeypatch.setenv("OTHER", "8")
    found = _parsed(
        *_configured("env", "EnvVarConfigProvider"),
        "node.id=${env:KRAFT_ID}",
        "a=x${env::OTHER}y",
        "b=${env:NONE_OF_IT}",
    )
    assert (found.values["node.id"], found.values["a"], found.values["b"]) == ("7", "x8y", "${env:NONE_OF_IT}")
    bounded = _configured("env", "EnvVarConfigProvider", allowlist_pattern="KRAFT_.*|OTH")
    assert _parsed(*bounded, "a=${env:KRAFT_ID} ${env:OTHER}").values["a"] == "7 ${env:OTHER}"
    assert "takes no path" in _parsed(*bounded, "a=${env:/p:KRAFT_ID}").errors["a"]
    bad = _parsed(*_configured("env", "EnvVarConfigProvider", allowlist_pattern="("), "a=${env:KRAFT_ID}")
    assert "no regular expression" in bad.errors["config.providers.env.param.allowlist.pattern"]


def test_a_file_gives_its_properties(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("key=se\\u0063ret\nother=é\n", encoding="utf-8")
    lines = _configured("file", "FileConfigProvider", allowed_paths=f"{tmp_path / 'nothing' / '..'},/usr")
    found = _parsed(*lines, f"a=${{file:{secrets}:key}}", f"b=${{file:{secrets}:other}}", f"c=${{file:{secrets}:none}}")
    assert (found.values["a"], found.values["b"]) == ("secret", "é")
    assert found.values["c"] == f"${{file:{secrets}:none}}"
    assert found.warnings == (f"c: ${{file:{secrets}:none}} stays as it is: its provider has no such value",)
    away = _parsed(*_configured("file", "FileConfigProvider", allowed_paths="/usr"), f"a=${{file:{secrets}:key}}")
    assert away.values["a"] == f"${{file:{secrets}:key}}"
    out = _parsed(*_configured("file", "FileConfigProvider", allowed_paths="/usr"), f"a=${{file:/usr/..{secrets}:key}}")
    assert out.values["a"].startswith("${file:")
    gone = _parsed(*_configured("file", "FileConfigProvider"), f"a=${{file:{tmp_path / 'gone'}:key}}")
    assert gone.errors["a"].endswith("gone cannot be read: No such file or directory")


@pytest.mark.parametrize(
    ("allowed", "why"), [("secrets", "is not an absolute path"), ("/no/such/place", "does not exist")]
)
def test_a_wrong_allowed_path_is_an_error(allowed: str, why: str) -> None:
    lines = _configured("dir", "DirectoryConfigProvider", allowed_paths=allowed)
    assert why in _parsed(*lines).errors["config.providers.dir.param.allowed.paths"]


def test_a_directory_gives_whole_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("two\nlines\n")
    lines = _configured("dir", "DirectoryConfigProvider", allowed_paths=str(tmp_path))
    found = _parsed(
        *lines, f"a=<${{dir:{tmp_path}:token}}>", f"b=${{dir:{tmp_path}:none}}", f"c=${{dir:{tmp_path}/none:token}}"
    )
    assert found.values["a"] == "<two\nlines\n>"
    assert (found.values["b"], found.values["c"]) == (f"${{dir:{tmp_path}:none}}", f"${{dir:{tmp_path}/none:token}}")
    assert _parsed(*lines, f"a=${{dir:{tmp_path}/..:token}}").values["a"].startswith("${dir:")


def test_references_to_other_providers_stay_and_are_named() -> None:
    found = _parsed(
        "config.providers=vault", "config.providers.vault.class=com.example.Vault", "a=${vault:p:k}${x}${y:z}"
    )
    assert found.values["a"] == "${vault:p:k}${x}${y:z}"
    warning, other = found.warnings
    assert warning.startswith(
        "config.providers.vault.class=com.example.Vault: references ${vault:...} stay as they are"
    )
    assert other == "a: ${y:z} stays as it is: config.providers has no provider y"
    assert _parsed("a=${vault:p:k}").warnings == (
        "a: ${vault:p:k} stays as it is: config.providers has no provider vault",
    )


@pytest.mark.parametrize(
    ("providers", "reference", "why"),
    [
        (_configured("env", "EnvVarConfigProvider"), "${env:NOSUCH}", "its provider has no such value"),
        (_configured("vault", "Vault"), "${vault:p:k}", "the class of its provider is not known here"),
        ([], "${vault:p:k}", "config.providers has no provider vault"),
    ],
)
def test_a_password_is_no_unresolved_reference(providers: list[str], reference: str, why: str, tmp_path: Path) -> None:
    """It would be the secret key, which is easy to guess."""
    path = tmp_path / "c.properties"
    lines = [*CONTROLLER, *providers, f"delegation.token.secret.key={reference}"]
    path.write_text("\n".join(lines))
    with pytest.raises(ConfigError) as raised:
        load_config(path)
    assert f"delegation.token.secret.key=[hidden]: {reference} stays as it is: {why}" in str(raised.value)
    path.write_text("\n".join([*CONTROLLER, *providers, f"ssl.keystore.password={reference}"]))
    assert load_config(path).unused_keys == ("ssl.keystore.password",)


def test_what_is_not_allowed_is_not_said_to_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER", "8")
    lines = _configured("file", "FileConfigProvider", allowed_paths="/usr")
    (warning,) = _parsed(*lines, f"a=${{file:{tmp_path}/s:key}}").warnings
    assert warning.endswith("stays as it is: allowed.paths of its provider does not allow the path")
    (warning,) = _parsed(*_configured("e", "EnvVarConfigProvider", allowlist_pattern="K.*"), "a=${e:OTHER}").warnings
    assert warning.endswith("stays as it is: allowlist.pattern of its provider does not allow the variable")


def test_an_unresolved_reference_is_an_error_only_in_a_key_that_is_used(tmp_path: Path) -> None:
    lines = [
        *_configured("file", "FileConfigProvider"),
        "process.roles=controller",
        "listeners=CONTROLLER://c1:9093",
        "log.dirs=/data",
        "node.id=1",
        f"ssl.keystore.password=${{file:{tmp_path}/gone:p}}",
    ]
    path = tmp_path / "c.properties"
    path.write_text("\n".join(lines))
    assert load_config(path).unused_keys == ("ssl.keystore.password",)
    path.write_text("\n".join([*lines, f"super.users=${{file:{tmp_path}/gone:p}}"]))
    with pytest.raises(ConfigError, match=r"super\.users=\$\{file:.*gone cannot be read"):
        load_config(path)


def test_keys_of_providers_are_no_unknown_keys() -> None:
    given = {"process.roles": "controller", "node.id": "1", "listeners": "CONTROLLER://c1:9093", "log.dirs": "/d"}
    assert config_of({**given, "config.providers": "x", "config.providers.x.param.y": "1"}, strict=True).warnings == ()


@pytest.mark.parametrize("name", ["\\ud800", "\\u0000", "x" * 5_000])
def test_what_can_name_no_file_and_no_variable_has_no_value(name: str, tmp_path: Path) -> None:
    for kind in ("EnvVarConfigProvider", "DirectoryConfigProvider"):
        assert not _parsed(*_configured("p", kind), f"a=${{p:{name}}}").errors
    for options in ({}, {"allowed_paths": str(tmp_path)}):
        lines = _configured("p", "DirectoryConfigProvider", **options)
        found = _parsed(*lines, f"a=${{p:{tmp_path}/{name}:key}}", f"b=${{p:{tmp_path}:{name}}}")
        assert not found.errors
        assert len(found.warnings) == 2
    found = _parsed(*_configured("p", "FileConfigProvider", allowed_paths=f"{tmp_path}/{name}"), "a=${p:/x:y}")
    assert "does not exist" in found.errors["config.providers.p.param.allowed.paths"]


def test_half_a_surrogate_pair_is_no_path_of_a_file() -> None:
    found = _parsed(*_configured("p", "FileConfigProvider"), "a=${p:/\\ud800:key}")
    assert not found.errors
    assert len(found.warnings) == 1


def test_a_long_value_is_read_in_time() -> None:
    value = "${" + ":" * 20_000
    assert _parsed(*_configured("p", "EnvVarConfigProvider"), f"a={value}").values["a"] == value
