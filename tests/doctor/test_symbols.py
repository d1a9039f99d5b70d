"""Which glibc a library needs: the same as the linker's own tools say, and no damage is believed."""

import ctypes
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coldpress.doctor.symbols import library_facts, newest_glibc
from coldpress.package.elf import NotElf, strip

Elf = Callable[..., bytes]


def _real() -> list[Path]:
    """Libraries of wheels that are here, and of Python itself."""
    found = [Path(str(file.locate())) for file in distribution("tokenizers").files or [] if file.suffix == ".so"]
    found.append(Path(sys.modules["_ctypes"].__file__ or ctypes.__file__))
    return [path for path in found if path.suffix == ".so"]


@pytest.mark.parametrize("path", _real(), ids=lambda path: path.name)
def test_real_libraries(path: Path) -> None:
    """All that looks like a version in the whole file is at least what the table names."""
    data = path.read_bytes()
    texts = [part.split(b"\0")[0] for part in data.split(b"GLIBC_")[1:]]
    seen = [tuple(map(int, text.split(b"."))) for text in texts if text.replace(b".", b"").isdigit()]
    arch, newest = library_facts(path)
    assert newest == max(seen)
    assert arch in ("x86_64", "arm64")
    assert newest_glibc(strip(data)) == newest


def test_versions_are_compared_as_numbers(elf: Elf) -> None:
    assert newest_glibc(elf(["GLIBC_2.4", "GLIBC_2.17", "GLIBC_2.2.5"])) == (2, 17)
    assert newest_glibc(elf(["GLIBC_PRIVATE", "GCC_3.0", "GLIBC_2.3"])) == (2, 3)
    assert newest_glibc(elf([])) is None


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=30))
def test_any_versions(elf: Elf, versions: list[tuple[int, int]]) -> None:
    made = elf([f"GLIBC_{major}.{minor}" for major, minor in versions])
    assert newest_glibc(made) == max(versions)


@given(st.binary(max_size=400) | st.binary(min_size=58, max_size=400).map(lambda data: b"\x7fELF\x02\x01" + data))
@example(b"")
def test_anything_else_is_refused(data: bytes) -> None:
    try:
        newest_glibc(data)
    except NotElf:
        return
    assert data[:4] == b"\x7fELF"


@given(st.data())
def test_a_damaged_library_is_refused_or_read(elf: Elf, data: st.DataObject) -> None:
    whole = bytearray(elf(["GLIBC_2.17", "GLIBC_2.34"]))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(6, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    for damaged in (bytes(whole), bytes(whole[:cut])):
        try:
            newest_glibc(damaged)
        except NotElf:
            continue


def test_a_short_file(tmp_path: Path) -> None:
    path = tmp_path / "libempty.so"
    path.write_bytes(b"")
    with pytest.raises(NotElf, match="too short"):
        library_facts(path)
