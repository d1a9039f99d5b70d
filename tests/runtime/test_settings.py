"""Settings of a running function."""

import time
from pathlib import Path
from posix import environ, sched_getaffinity

import pytest

from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox
from coldpress_runtime import settings


@pytest.mark.parametrize(
    ("memory", "cpus", "expected"),
    [
        ("128", 2, 1),
        ("879", 2, 1),
        ("880", 2, 2),
        ("1769", 2, 2),
        ("1769", 1, 1),
        ("1769", 16, 2),
        ("3539", 3, 3),
        ("10240", 6, 6),
        ("", 2, 1),
        ("much", 2, 1),
    ],
)
def test_threads_by_memory_and_cpus(
    memory: str, cpus: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(environ, b"COLDPRESS_THREADS", raising=False)
    monkeypatch.setitem(environ, b"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", memory.encode())
    monkeypatch.setattr(settings, "sched_getaffinity", lambda process: set(range(cpus)))
    assert settings.threads() == expected


def test_threads_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(environ, b"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", b"128")
    monkeypatch.setitem(environ, b"COLDPRESS_THREADS", b"3")
    assert settings.threads() == 3


def test_threads_are_tied_to_cpus_in_a_sandbox_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "sched_getaffinity", lambda process: {3, 1})
    monkeypatch.delitem(environ, b"AWS_LAMBDA_RUNTIME_API", raising=False)
    assert settings.own_cpus() == []
    monkeypatch.setitem(environ, b"AWS_LAMBDA_RUNTIME_API", b"127.0.0.1:9001")
    assert settings.own_cpus() == [1, 3]


@pytest.mark.skipif(len(sched_getaffinity(0)) < 2, reason="there is but one CPU here")
@pytest.mark.parametrize("threads", [1, 2])
def test_each_thread_has_a_cpu_of_its_own(threads: int, artifact: Artifact) -> None:
    """Left to the scheduler, a second thread wakes where the first one runs, and waits for it."""
    with Sandbox(artifact.function_folder, env={"COLDPRESS_THREADS": str(threads)}) as sandbox:
        assert sandbox.invoke(b'{"text": "hello"}').ok
        # A thread ties itself when it first runs, which on a busy machine may be after the answer.
        until = time.monotonic() + 10
        while threads == 2 and not all(cpus.isdecimal() for cpus in _allowed(sandbox)):
            assert time.monotonic() < until, _allowed(sandbox)
            time.sleep(0.01)
        allowed = _allowed(sandbox)
    assert len(allowed) == len(set(allowed)) == threads


def _allowed(sandbox: Sandbox) -> list[str]:
    """The CPUs that each thread may run on."""
    lines = [
        line
        for status in Path(f"/proc/{sandbox.pid}/task").glob("*/status")
        for line in status.read_text().splitlines()
    ]
    return [line.split()[1] for line in lines if line.startswith("Cpus_allowed_list")]
