"""The zip: readable by others, the same bytes each time."""

import os
import zipfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.package.zip import write_zip


def silent(text: str) -> None:
    pass


def make_tree(root: Path, content: dict[str, bytes]) -> None:
    for name, data in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


names = st.from_regex(r"[a-zé0-9_]{1,8}(/[a-zé0-9_]{1,8}){0,2}\.x", fullmatch=True)


@settings(max_examples=40, deadline=None)
@given(content=st.dictionaries(names, st.binary(max_size=400), max_size=6))
def test_what_goes_in_comes_out(content: dict[str, bytes], tmp_path_factory: object) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        make_tree(root, content)
        size = write_zip(root, Path(folder, "a.zip"), silent)
        with zipfile.ZipFile(Path(folder, "a.zip")) as archive:
            assert archive.testzip() is None
            assert {name: archive.read(name) for name in archive.namelist()} == content
            assert archive.namelist() == sorted(archive.namelist(), key=lambda name: name.split("/"))
        assert size == Path(folder, "a.zip").stat().st_size


def test_times_owners_and_umask_do_not_matter(tmp_path: Path) -> None:
    content = {"bootstrap": b"#!/bin/sh\n", "lib/a.so": b"\x7fELF" * 100, "empty": b""}
    for place, mask, when in (("one", 0o022, 0), ("two", 0o077, 1_700_000_000)):
        previous = os.umask(mask)
        make_tree(tmp_path / place, content)
        os.umask(previous)
        (tmp_path / place / "bootstrap").chmod(0o700)
        for path in (tmp_path / place).rglob("*"):
            os.utime(path, (when, when))
        write_zip(tmp_path / place, tmp_path / f"{place}.zip", silent)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        modes = {info.filename: oct(info.external_attr >> 16) for info in archive.infolist()}
    assert modes == {"bootstrap": "0o100755", "lib/a.so": "0o100644", "empty": "0o100644"}
