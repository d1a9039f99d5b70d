"""This machine, as it is and as it might be."""

import platform
import sys
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.doctor import examine_machine, machine
from coldpress.emulate.world import namespaces
from coldpress.errors import ColdpressError, MissingPart
from coldpress.package.libraries import host_architecture


def test_the_machine_that_tests_run_on() -> None:
    findings = {one.name: one for one in examine_machine()}
    assert "red" not in {one.level for one in findings.values()}
    assert findings["Python"].level == "green"
    assert platform.python_version() in findings["Python"].what
    assert findings["platform"].what == f"Linux {host_architecture()}"
    assert findings.keys() >= {"optional parts", "native parts", "programs", "local Lambda", "price book"}
    assert all(one.fix and one.why for one in findings.values() if one.level != "green")


@pytest.mark.parametrize(("system", "level"), [("Darwin", "yellow"), ("Windows", "red"), ("Linux", "green")])
def test_other_platforms(monkeypatch: pytest.MonkeyPatch, system: str, level: str) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    finding = machine.platform_known()
    assert finding.level == level
    assert level == "green" or "container" in finding.fix


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    assert "install Python 3.11" in machine.python().fix


_REQUIRES = [
    "click<9,>=8.1",
    "boto3<2,>=1.40; extra == 'aws'",
    'onnxruntime==1.27.0; extra == "export"',
    "uvloop==0.23.0; sys_platform == 'linux' and extra == 'serve'",
    "winloop==1.0; sys_platform == 'win32' and extra == 'serve'",
]


def test_what_extras_want() -> None:
    wanted = machine.wanted_by_extra(_REQUIRES)
    assert wanted == {"aws": {"boto3": ""}, "export": {"onnxruntime": "1.27.0"}, "serve": {"uvloop": "0.23.0"}}


@given(st.lists(st.text(max_size=40)))
def test_any_requirements_are_read(lines: list[str]) -> None:
    machine.wanted_by_extra(lines)


def test_missing_parts_and_other_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "requires", lambda name: _REQUIRES)
    there = {"boto3": None, "onnxruntime": "1.31.1", "uvloop": "0.23.0+local"}
    monkeypatch.setattr(machine, "_installed", there.get)
    finding = machine.extras()
    assert finding.level == "yellow"
    assert finding.what == "without aws: deploying, onnxruntime 1.31.1 instead of 1.27.0"
    assert finding.fix == "pip install 'coldpress[export,serve,aws]'"
    monkeypatch.setattr(machine, "_installed", {**there, "onnxruntime": "1.27.0"}.get)
    assert machine.extras().fix == "pip install 'coldpress[aws]'"
    monkeypatch.setattr(machine, "_installed", {**there, "onnxruntime": "1.27.0", "boto3": "1.44.0"}.get)
    assert machine.extras().level == "green"


def test_parts_that_were_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str, arch: str) -> bytes:
        raise ColdpressError("none")

    monkeypatch.setattr(machine, "own_library", none)
    finding = machine.native_parts()
    assert finding.level == "yellow"
    assert "gcc-aarch64-linux-gnu" in finding.fix


def test_a_machine_without_control_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "find_groups", lambda: (None, "they may not be made here"))
    finding = machine.sandboxes()
    assert finding.level == "yellow"
    assert "memory, CPU share" in finding.what
    assert "systemd-run --user --scope -p Delegate=yes" in finding.fix


def test_a_machine_without_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise MissingPart("the launcher was not compiled: apt-get install gcc, then install coldpress anew")

    monkeypatch.setattr(namespaces, "launcher", none)
    finding = machine.sandboxes()
    assert finding.level == "yellow"
    assert finding.fix == "apt-get install gcc, then install coldpress anew"


def test_programs_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "apt-get install qemu-user-static" in machine.programs().what


def test_an_old_price_book(monkeypatch: pytest.MonkeyPatch) -> None:
    class Later(date):
        @classmethod
        def today(cls) -> "Later":
            return cls.fromisoformat(str(date(2026, 11, 1) + timedelta(days=400)))

    monkeypatch.setattr(machine, "date", Later)
    finding = machine.prices()
    assert finding.level == "yellow"
    assert "days old" in finding.what
    assert "coldpress prices --refresh" in finding.fix
