"""Wheels that custom code requires, and what of a project's folder is packed: sizes, safety, names."""

import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.errors import ColdpressError, TooLarge, UsageError
from coldpress.package.code import place_code
from coldpress.package.requirements import fetch, unpack, weigh


def wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return folder


def test_sizes_are_weighed_against_the_limit(tmp_path: Path) -> None:
    wheel(tmp_path, "light-1.0-py3-none-any.whl", {"light.py": b"x" * 10, "light-1.0.dist-info/METADATA": b"y"})
    wheel(tmp_path, "heavy-2.0-cp313-cp313-manylinux_2_28_x86_64.whl", {"heavy.so": b"x" * 2_000_000})
    wheel(tmp_path, "stable-3.0-cp39-abi3-manylinux2014_x86_64.whl", {"stable.so": b"x"})
    found = weigh(tmp_path, 3_000_000)
    assert [(one.name, one.version, one.bytes, one.python) for one in found] == [
        ("heavy", "2.0", 2_000_000, "3.13"),
        ("light", "1.0", 11, "any"),
        ("stable", "3.0", 1, "any"),
    ]
    with pytest.raises(
        TooLarge, match=r"have 2 MB unpacked.*may have 1 .*heaviest: heavy 2\.0 \(2\.0 MB\), light"
    ):
        weigh(tmp_path, 1_000_000)
    assert len(weigh(tmp_path, None)) == 3


def test_modules_are_unpacked_and_scripts_are_not(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": b"1",
        "pkg/__pycache__/x.pyc": b"2",
        "pkg-1.0.data/purelib/more.py": b"3",
        "pkg-1.0.data/scripts/run": b"4",
        "pkg-1.0.data/data/etc/x": b"5",
        "pkg-1.0.dist-info/METADATA": b"6",
    }
    unpack(wheel(tmp_path, "pkg-1.0-py3-none-any.whl", files), tmp_path / "out")
    there = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*"))
    assert [path for path in there if "." in path.rpartition("/")[2]] == [
        "more.py",
        "pkg-1.0.dist-info",
        "pkg/__init__.py",
    ]


@settings(deadline=None)
@given(
    parts=st.lists(st.sampled_from(["..", ".", "a", "/", "\\", "b.py"]), min_size=1, max_size=5),
    lead=st.sampled_from(["", "/", "../"]),
)
def test_no_path_leaves_the_folder(parts: list[str], lead: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("wheel")
    (root / "in").mkdir()
    wheel(root / "in", "evil-1.0-py3-none-any.whl", {lead + "/".join(parts) + "/x.py": b""})
    try:
        unpack(root / "in", root / "out/packages")
    except ColdpressError:
        return
    outside = [path for path in root.rglob("x.py") if not path.is_relative_to(root / "out/packages")]
    assert not outside


@pytest.mark.parametrize(
    ("requirement", "named"),
    [
        ("coldpress-has-no-such-package==1.0", "coldpress-has-no-such-package"),
        ("humanize==0.0.0.1", "Check names and versions"),
    ],
)
def test_a_requirement_that_is_not_there(requirement: str, named: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be had as wheels for Python 3\.13 on arm64") as caught:
        fetch((requirement,), "arm64", "3.13")
    assert named in str(caught.value)


def test_only_what_is_named_is_packed_and_no_secret(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name in (
        "model.py",
        "other.py",
        ".env",
        "data/a.json",
        "data/.env.local",
        "data/key.pem",
        "data/.git/config",
    ):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert place_code(project, ("model.py", "data"), tmp_path / "out") == ["data/a.json", "model.py"]
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["a.json", "data", "model.py"]


@pytest.mark.parametrize(
    ("name", "named"),
    [
        (".env", "looks like a secret"),
        ("data/key.pem", "looks like a secret"),
        ("../outside.txt", "does not lie inside"),
        ("/etc/passwd", "does not lie inside"),
        ("gone.txt", "is to be packed and is not in"),
        ("link.txt", "leads out of"),
    ],
)
def test_what_is_never_packed(name: str, named: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / ".env").write_text("SECRET=1")
    (project / "data/key.pem").write_text("x")
    (tmp_path / "outside.txt").write_text("x")
    (project / "link.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(UsageError, match=named):
        place_code(project, (name,), tmp_path / "out")
