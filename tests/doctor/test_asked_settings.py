"""Settings that Lambda refuses, or that the function would not start with."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.deploy.wanted import WRAPPER
from coldpress.doctor import Finding, Settings
from coldpress.doctor.case import python_of
from coldpress.doctor.environment import MOST_BYTES, environment_bytes
from coldpress.errors import UsageError

Found = Callable[..., Finding]


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        (Settings(snapstart=True, provisioned=2), "--provisioned 0"),
        (Settings(snapstart=True, tmp_mb=1024), "--tmp 512"),
        (Settings(snapstart=True, efs=True), "leave --efs out"),
        (Settings(snapstart=True, runtime="python3.11"), "--runtime python3.12"),
    ],
)
def test_what_snapstart_does_not_go_with(measured: Artifact, settings: Settings, fix: str, found: Found) -> None:
    finding = found(measured.path, "SnapStart", settings)
    assert finding.level == "red"
    assert fix in finding.fix


def test_all_that_snapstart_does_not_go_with_at_once(measured: Artifact, found: Found) -> None:
    finding = found(measured.path, "SnapStart", Settings(snapstart=True, provisioned=1, tmp_mb=513, efs=True))
    assert finding.fix.count(";") == 2
    assert found(measured.path, "SnapStart", Settings(snapstart=True)).level == "green"


def test_more_memory_than_a_new_account_has(measured: Artifact, found: Found) -> None:
    finding = found(measured.path, "memory, new accounts", Settings(memory_mb=4096))
    assert finding.level == "yellow"
    assert "--memory 3008" in finding.fix


def test_more_provisioned_than_an_account_has(measured: Artifact, found: Found) -> None:
    finding = found(measured.path, "provisioned concurrency", Settings(provisioned=950))
    assert finding.level == "yellow"
    assert "L-B99A9384" in finding.fix


@pytest.mark.parametrize(
    ("threads", "memory", "level", "fix"),
    [
        ("4", 1769, "yellow", "COLDPRESS_THREADS=2"),
        ("2", 512, "yellow", "COLDPRESS_THREADS=1"),
        ("2", 885, "green", ""),
        ("6", 10240, "green", ""),
        ("0", 1769, "red", "leave COLDPRESS_THREADS out"),
        ("many", 1769, "red", "leave COLDPRESS_THREADS out"),
        ("²", 1769, "red", "leave COLDPRESS_THREADS out"),
    ],
)
def test_threads_against_cpus(
    measured: Artifact, threads: str, memory: int, level: str, fix: str, found: Found
) -> None:
    settings = Settings(memory_mb=memory, env={"COLDPRESS_THREADS": threads})
    finding = found(measured.path, "threads", settings)
    assert finding.level == level
    assert fix in finding.fix


def test_the_doctor_counts_threads_as_the_function_does() -> None:
    from coldpress.doctor import environment
    from coldpress.emulate.world import cgroups
    from coldpress_runtime import settings

    assert environment._MB_FOR_THREADS == settings.MB_FOR_THREADS
    assert cgroups.MB_PER_VCPU == settings.MB_PER_VCPU


def test_the_doctor_knows_the_glibc_that_requirements_are_fetched_for() -> None:
    from coldpress.doctor.libraries import runtime_glibc
    from coldpress.package import requirements

    for minor in range(10, 15):
        assert runtime_glibc((3, minor)) == (2, requirements._glibc(f"3.{minor}"))


def test_an_environment_that_is_too_large(measured: Artifact, found: Found) -> None:
    finding = found(measured.path, "environment, size", Settings(env={"LABELS": "x" * 4100}))
    assert finding.level == "red"
    assert "of 4,096 bytes" in finding.what
    assert "Parameter Store" in finding.fix
    room = MOST_BYTES - environment_bytes({**WRAPPER, "LABELS": ""})
    assert found(measured.path, "environment, size", Settings(env={"LABELS": "x" * room})).level == "yellow"
    assert found(measured.path, "environment, size", Settings(env={"LABELS": "x" * (room + 1)})).level == "red"


@pytest.mark.parametrize("name", ["AWS_REGION", "_HANDLER", "AWS_SECRET_ACCESS_KEY", "LAMBDA_TASK_ROOT"])
def test_names_that_lambda_keeps_for_itself(measured: Artifact, name: str, found: Found) -> None:
    finding = found(measured.path, "environment, names", Settings(env={name: "x"}))
    assert finding.level == "red"
    assert f"leave {name} out" in finding.fix


def test_names_that_lambda_does_not_take(measured: Artifact, found: Found) -> None:
    for name in ("X", "1ST", "MY-NAME", "_OWN", "ÄRGER"):
        assert found(measured.path, "environment, names", Settings(env={name: "x"})).level == "red"
    allowed = {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/bootstrap", "My_Name2": "x"}
    assert found(measured.path, "environment, names", Settings(env=allowed)).level == "green"


def test_keys_in_the_environment(measured: Artifact, found: Found) -> None:
    key = "AKIA" + "QX7" * 5 + "Z"
    finding = found(measured.path, "environment, secrets", Settings(env={"KEY": key}))
    assert finding.level == "yellow"
    assert "KEY holds an AWS access key" in finding.what
    assert key not in finding.what
    assert "role" in finding.fix


@pytest.mark.parametrize(
    ("variable", "value", "level", "fix"),
    [
        ("COLDPRESS_LOAD", "later", "red", "one of those values"),
        ("COLDPRESS_LOAD", "first-request", "green", ""),
        ("COLDPRESS_TOKEN_SHA256", "my token itself", "red", "values"),
        ("COLDPRESS_TREADS", "2", "yellow", "COLDPRESS_THREADS"),
    ],
)
def test_settings_of_our_own(
    measured: Artifact, variable: str, value: str, level: str, fix: str, found: Found
) -> None:
    finding = found(measured.path, "settings", Settings(env={variable: value}))
    assert finding.level == level
    assert fix in finding.fix


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=100), max_size=20))
def test_any_environment_is_counted(env: dict[str, str]) -> None:
    least = sum(len(name) + len(value) for name, value in env.items())
    assert environment_bytes(env) >= least
    assert environment_bytes(env) <= len(json.dumps(env).encode())


@given(st.text(max_size=20) | st.from_regex(r"python[0-9]{1,3}\.[0-9]{1,3}", fullmatch=True))
def test_any_runtime_is_read_or_refused(name: str) -> None:
    try:
        major, minor = python_of(name)
    except UsageError as error:
        assert repr(name) in str(error)
    else:
        assert name.startswith("python")
        assert major >= 0 and minor >= 0


def test_a_runtime_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"nodejs22\.x"):
        Settings(runtime="nodejs22.x")


def test_the_memory_that_was_recommended_is_taken(demo: Path, found: Found) -> None:
    content = json.loads((demo / "bench.json").read_text())
    content["recommended"] = {"cost": 128, "speed": 1769, "balanced": 512}
    (demo / "bench.json").write_text(json.dumps(content))
    assert "of 512" in found(demo, "memory").what
