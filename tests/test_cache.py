"""The cache: by content, whole or not at all, and never without end."""

import os
import shutil
from pathlib import Path

import pytest

from coldpress import cache
from coldpress.intake import Options, find
from coldpress.optimize import identity


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDPRESS_CACHE", str(tmp_path / "cache"))


def fill(folder: Path) -> None:
    (folder / "thing").write_bytes(b"x" * 1000)


def test_what_was_made_once_is_not_made_again() -> None:
    first = cache.cached("kind", {"a": 1}, fill)
    assert cache.cached("kind", {"a": 1}, lambda folder: pytest.fail("made again")) == first
    assert cache.cached("kind", {"a": 2}, fill) != first
    assert cache.cached("other", {"a": 1}, fill) != first


def test_what_fails_leaves_nothing() -> None:
    def broken(folder: Path) -> None:
        fill(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.cached("kind", 1, broken)
    assert list((cache.root() / "kind").iterdir()) == []
    assert (cache.cached("kind", 1, fill) / "thing").exists()


def test_another_code_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    first, shared = cache.cached("kind", 1, fill), cache.cached("kind", 2, fill, whoever=True)
    monkeypatch.setattr(cache, "made_by", lambda: "another version")
    assert cache.cached("kind", 1, fill) != first
    assert cache.cached("kind", 2, fill, whoever=True) == shared


def test_two_that_make_the_same_at_once() -> None:
    def slower(folder: Path) -> None:
        fill(folder)
        cache.cached("kind", 1, fill)

    assert (cache.cached("kind", 1, slower) / "thing").exists()
    assert len(list((cache.root() / "kind").iterdir())) == 1


def test_the_oldest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 2500)
    oldest, older = cache.cached("kind", 1, fill), cache.cached("kind", 2, fill)
    os.utime(oldest, (1, 1))
    os.utime(older, (2, 2))
    cache.cached("kind", 1, fill)  # used again
    newest = cache.cached("kind", 3, fill)
    assert (oldest.exists(), older.exists(), newest.exists()) == (True, False, True)


def test_what_a_killed_build_left_goes_after_a_day() -> None:
    cache.cached("kind", 1, fill)
    recent, old = (cache.root() / "kind" / f".partial-{name}" for name in ("recent", "old"))
    for folder in (recent, old):
        folder.mkdir()
    os.utime(old, (1, 1))
    cache.cached("kind", 2, fill)
    assert (recent.exists(), old.exists()) == (True, False)


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("COLDPRESS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.root() == tmp_path / "xdg/coldpress"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.root() == Path.home() / ".cache/coldpress"


def test_the_same_model_elsewhere_is_the_same(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a folder's name is a number that stands in the model's own settings."""
    copy = tmp_path / "128"
    shutil.copytree(tiny_folder, copy)
    monkeypatch.chdir(tmp_path)
    known = []
    for place in (str(tiny_folder), str(copy), "128"):
        with find(place, Options()) as source:
            known.append(identity(source))
    assert known[0] == known[1] == known[2] is not None
