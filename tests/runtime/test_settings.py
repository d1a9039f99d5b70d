"""Settings that need no sandbox to be tested."""

from posix import environ

import pytest

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
