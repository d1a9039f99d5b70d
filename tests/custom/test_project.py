"""coldpress.toml: what it may say, and what is said of it when it is wrong."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldpress.custom.project import find_project, read_project
from coldpress.errors import UsageError

CODE = '[function]\ncode = "model.py:Model"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text("class Model: ...")
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("class Model: ...")
    (tmp_path / "bare").mkdir()
    (tmp_path / "json.py").write_text("")
    (tmp_path / "handler.py").write_text("")
    (tmp_path / "weights").mkdir()
    return tmp_path


def read(folder: Path, text: str) -> Any:
    (folder / "coldpress.toml").write_text(text)
    return read_project(folder)


def test_all_that_it_may_say(folder: Path) -> None:
    (folder / "needs.txt").write_text(
        "# a comment\npillow>=12 ; python_version > '3.9'  # another\n\nnumpy[extra]~=2.0\n"
    )
    found = read(
        folder,
        """
        [function]
        name = "my-function"
        code = "package:Model"
        files = ["weights"]
        requirements = "needs.txt"
        python = "3.13"
        arch = "arm64"
        [model]
        source = "weights"
        engine = "press"
        max_drift = 0.2
        quick = true
        [samples]
        requests = [{ text = "hi", many = [1, 2.5, true] }]
        """,
    )
    assert (found.name, found.python, found.arch, found.files) == ("my-function", "3.13", "arm64", ("weights",))
    assert (found.code, found.entry) == ("package", "package:Model")
    assert found.requirements == ("pillow>=12 ; python_version > '3.9'", "numpy[extra]~=2.0")
    assert found.source == str(folder.resolve() / "weights"), "seen from the toml"
    assert found.wishes == {"engine": "press", "max_drift": 0.2, "quick": True}
    assert found.samples == [{"text": "hi", "many": [1, 2.5, True]}]


def test_where_it_is_found(folder: Path) -> None:
    read(folder, CODE)
    for place in (folder, str(folder), folder / "coldpress.toml"):
        found = find_project(place)
        assert found is not None
        assert found.folder == folder.resolve()
    for other in (folder / "weights", "demo:minilm", "BAAI/bge-small-en-v1.5", object()):
        assert find_project(other) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[function", "is not TOML"),
        ("", 'such as code = "model.py:Model"'),
        ("[functoin]", r"\[functoin\] is no section; did you mean 'function'\?"),
        ("function = 1", "written as .function. on a line of its own"),
        (
            CODE + "requirement = []",
            r"takes no 'requirement'; did you mean 'requirements'\? Known are: name, code",
        ),
        (CODE + "[model]\nsource = 'x'\nprecison = 'int8'", "did you mean 'precision'"),
        (CODE + "[model]\nengine = 'press'", "has no source"),
        (CODE + "[model]\nsource = 'x'\nquick = 1", "quick in .model. is 1; it must be true or false"),
        (CODE + "[model]\nsource = 'x'\nmax_tokens = true", "it must be a whole number"),
        (CODE + "name = 'a b'", "name is 'a b'; it takes 1 to 64 letters"),
        (CODE + "python = '2.7'", "python is '2.7'; it can be: 3.10"),
        (CODE + "arch = 'riscv'", "arch is 'riscv'; it can be: x86_64, arm64"),
        (CODE + "files = [1]", r"files\[0\] is 1; it must be a text"),
        (CODE + "requirements = 'gone.txt'", "gone.txt"),
        (CODE + "requirements = ['-e .']", "'-e .' is no package"),
        (CODE + "requirements = ['--index-url=http://x']", "options, paths and addresses are not taken"),
        (CODE + "requirements = ['./here']", "is no package"),
        (CODE + "requirements = ['a @ http://b/c.whl']", "is no package"),
        (CODE + "[samples]\nrequests = [1]", r"requests\[0\] in .samples. is 1"),
        (CODE + "[samples]\nrequests = [{ at = 2020-01-01 }]", "has no JSON form"),
        (CODE + "[samples]\nrequests = [{ at = nan }]", "has no JSON form"),
        ('[function]\ncode = "model.py"', "names a file or a folder and a class"),
        ('[function]\ncode = "gone.py:Model"', "not there"),
        ('[function]\ncode = "bare:Model"', "a folder without __init__.py"),
        ('[function]\ncode = "../model.py:Model"', "lies beside coldpress.toml"),
        ('[function]\ncode = "json.py:Model"', "rename it"),
        ('[function]\ncode = "handler.py:Model"', "rename it"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=named):
        read(folder, text)


VALUES = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text("ab:.py/- ", max_size=8).map(repr) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3),
)
KEYS = st.sampled_from(["name", "code", "files", "requirements", "python", "source", "quick", "requests", "other"])
SECTIONS = st.sampled_from(["function", "model", "samples", "more"])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.dictionaries(SECTIONS, st.dictionaries(KEYS, VALUES, max_size=4), max_size=3),
    noise=st.text(max_size=5),
)
def test_whatever_it_says_it_is_read_or_refused(content: Any, noise: str, folder: Path) -> None:
    lines = [f"# {noise}"]
    for section, values in content.items():
        lines += [
            f"[{section}]",
            *(f"{key} = {str(value).replace('True', 'true')}" for key, value in values.items()),
        ]
    try:
        found = read(folder, "\n".join(lines))
    except (UsageError, UnicodeEncodeError):
        return
    assert (folder / found.code).exists()
