"""Putting models together: what is asked for, what is refused, and what lies where afterwards."""

import json
import string
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from many_models import other as other
from many_models import three as three
from many_models import variant

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import UsageError
from coldpress.many.asked import Asked, read_models
from coldpress.many.tenants import read_tenants
from coldpress.progress import Silent
from coldpress.verify.recheck import recheck

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COLDPRESS, *arguments], capture_output=True, text=True, check=False)


def test_what_is_in_it(three: Artifact) -> None:
    assert three.is_many and three.manifest["engine"] == "several"
    assert three.manifest["many"] == {"default": None, "at": "package", "tenants": 0}
    assert [*three.manifest["models"]] == ["plain", "other", "graph"]
    function = three.function_folder
    assert {path.name for path in (function / "lib").iterdir()} == {
        "libpress.so",
        "libonnxruntime.so",
        "tokenizers.abi3.so",
    }
    assert not (function / "coldpress_runtime" / "tasks" / "reranking.py").exists()
    assert (function / "coldpress_runtime" / "many" / "shelf.py").exists()
    index = json.loads((function / "models" / "index.json").read_text())
    assert all(one["memory"] > 30e6 for one in index["models"].values())
    samples = [one["request"]["model"] for model in three.manifest["models"].values() for one in model["samples"]]
    assert set(samples) == {"plain", "other", "graph"}


def test_one_model_carries_none_of_it(artifact: Artifact) -> None:
    assert not artifact.is_many
    assert not (artifact.function_folder / "coldpress_runtime" / "many").exists()


def test_verified(three: Artifact) -> None:
    checks = recheck(three, ["native"], None, Silent())
    assert [check.passed for check in checks] == [True, True]


def test_the_doctor_looks_at_models_in_s3_too(graph_artifact: Artifact, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    coldpress.build(models={"a": graph_artifact}, out=out, models_at="s3://bucket/models")
    ran = run("doctor", out, "--json")
    assert ran.returncode == 0, ran.stderr
    found = {one["name"]: one["level"] for one in json.loads(ran.stdout)["findings"]}
    assert found["int8 on AVX2"] == "green"


def test_the_same_bytes_again(artifact: Artifact, other: Artifact, tmp_path: Path) -> None:
    again = [
        coldpress.build(models={"a": artifact, "b": other}, out=tmp_path / name).manifest
        for name in ("one", "two")
    ]
    assert again[0] == again[1] and again[0]["many"]["at"] == "package"


def test_from_the_command_line(artifact: Artifact, other: Artifact, tmp_path: Path) -> None:
    """A folder of artifacts, and a model by name beside it; in a layer."""
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "one").symlink_to(artifact.path)
    (tmp_path / "all" / "two").symlink_to(other.path)
    tenants = tmp_path / "tenants.json"
    tenants.write_text('{"header": "X-Tenant", "tenants": {"acme": {"models": ["two"]}}}')
    out = tmp_path / "out"
    said = ["build", "--models", str(tmp_path / "all"), "--models", f"three={artifact.path}", "--default", "one"]
    more = ["--tenants", str(tenants), "--models-at", "layer", "--name", "all", "--out", str(out)]
    ran = run(*said, *more)
    assert ran.returncode == 0 and ran.stdout == f"{out}\n", ran.stderr
    made = Artifact.open(out)
    assert [*made.manifest["models"]] == ["one", "two", "three"]
    assert made.manifest["many"] == {"default": "one", "at": "layer", "tenants": 1}
    layer = zipfile.ZipFile(out / "models.zip").namelist()
    assert [name for name in layer if name.startswith("coldpress/models/two/")] == [
        "coldpress/models/two/model.press"
    ]
    package = zipfile.ZipFile(out / "function.zip").namelist()
    assert {"models/index.json", "models/two/task.json"} <= set(package)
    assert not any(name.endswith(".press") for name in package)
    answer = made.function()({"model": "two", "text": "hi"})
    assert answer == other.function()({"text": "hi"})


def test_a_layer_that_is_not_there(other: Artifact, tmp_path: Path) -> None:
    made = coldpress.build(models={"a": other}, out=tmp_path / "out", models_at="layer")
    (made.function_folder / "models" / "a" / "model.press").unlink()
    with pytest.raises(
        Exception, match=r"'a' is neither in .*/models/a nor in /opt/coldpress/models/a: add the layer"
    ):
        made.function()({"model": "a", "text": "hi"})


def test_pressed_on_the_way(other: Artifact, minilm_folder: Path, tmp_path: Path) -> None:
    """What is no artifact yet becomes one, by the same flags for all."""
    models = {"made": str(minilm_folder), "other": other}
    made = coldpress.build(models=models, out=tmp_path / "out", quick=True, package="none")
    assert made.manifest["models"]["made"]["recipe"]["engine"] == "press"
    assert len(made.function()({"model": "made", "text": "hi"})["embeddings"][0]) == 384
    assert not (made.path / ".work").exists()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"models": {}}, "--models names no model"),
        ({"models": {"a/b": "x"}}, "'a/b' cannot name a model"),
        ({"models": {"index.json": "x"}}, "'index.json' cannot name a model"),
        ({"models": {"a": "x"}, "default": "b"}, "--default is 'b'; it can be: a"),
        (
            {"models": {"a": "x"}, "models_at": "ftp://x"},
            "--models-at is 'ftp://x'; it can be: package, layer, s3",
        ),
        ({"models": {"a": "x"}, "task": "embeddings"}, "--task is for one model, and --models are several"),
        ({"models": {"a": "x"}, "model": "y"}, "MODEL is for one model"),
        ({"models": {"a": "x"}, "max_tokens": 5}, "--max-tokens is for one model"),
        ({"models": {"a": "x"}, "models_at": "layer", "package": "image"}, "--models-at layer is for zips"),
        ({"models": {"a": "x"}, "tenants": "/none.json"}, "--tenants /none.json cannot be read"),
    ],
)
def test_refused(said: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        coldpress.build(**said, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_models_that_do_not_go_together(artifact: Artifact, other: Artifact, tmp_path: Path) -> None:
    arm = variant(artifact, 3, tmp_path / "arm")
    arm.manifest["arch"] = "arm64"
    with pytest.raises(UsageError, match=r"one CPU, and were built for x86_64 \(a\), arm64 \(b\): use one --arch"):
        coldpress.build(models={"a": other, "b": arm}, out=tmp_path / "out")
    old = variant(artifact, 3, tmp_path / "old")
    (old.function_folder / "lib" / "libpress.so").write_bytes(b"an older one")
    with pytest.raises(
        UsageError, match=r"libpress.so is another version than the other models': build .*old again"
    ):
        coldpress.build(models={"a": other, "b": old}, out=tmp_path / "out")
    both = coldpress.build(models={"a": other, "b": artifact}, out=tmp_path / "both", package="none")
    with pytest.raises(UsageError, match=r"'c' \(.*both\) holds several models itself"):
        coldpress.build(models={"c": both}, out=tmp_path / "out")
    custom = variant(artifact, 3, tmp_path / "custom")
    custom.manifest["custom"] = {}
    with pytest.raises(UsageError, match="'d' is code of one's own"):
        coldpress.build(models={"d": custom}, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["--models", "a=x,a=y"], "--models names 'a' twice"),
        (["--models", "/nowhere"], "neither NAME=MODEL nor a folder of artifacts"),
        (["--models", "."], "holds no artifact"),
        (["--default", "a", "demo:minilm"], "--default, --tenants and --models-at say more about --models"),
    ],
)
def test_wrong_on_the_command_line(said: list[str], message: str, tmp_path: Path) -> None:
    ran = run("build", *said, "--out", str(tmp_path / "out"))
    assert ran.returncode == 2 and message in " ".join(ran.stderr.split())


names = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=10).filter(
    lambda name: name[0] not in "._-" and name != "index.json"
)
paths = st.text(string.ascii_letters + "/.:-@", min_size=1, max_size=20)


@given(st.dictionaries(names, paths, min_size=1, max_size=6), st.integers(0, 5))
def test_names_and_models_come_through(models: dict[str, str], cut: int) -> None:
    pairs = [f"{name}={model}" for name, model in models.items()]
    said = [",".join(part) for part in (pairs[:cut], pairs[cut:]) if part]
    assert read_models(said) == models
    assert Asked(read_models(said)).models == models


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["header", "tenants", "models", "token_sha256", "a", "b"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_values)
def test_any_file_of_tenants_is_read_or_refused(tmp_path: Path, said: object) -> None:
    path = tmp_path / "tenants.json"
    path.write_text(json.dumps(said))
    try:
        found = read_tenants(path, ["a", "b"])
    except UsageError as error:
        assert str(error).startswith(f"--tenants {path}: ")
        return
    assert all(set(one["models"]) <= {"a", "b"} for one in found["tenants"].values())


SHA = "0" * 64


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"tenants": {}}, 'it must be {"tenants":'),
        ({"tenants": {"t": {"models": ["a"]}}}, "'t' needs a \"token_sha256\", the 64 hex digits"),
        ({"tenants": {"t": {"models": ["c"], "token_sha256": SHA}}}, "'t' may use 'c', which is no model here"),
        ({"tenants": {"t": {"models": [], "token_sha256": SHA}}}, "'t' must have \"models\", a list of names"),
        (
            {"tenants": {"t": {"models": ["a"], "token": "x"}}},
            "there is no field 'token'; there are: models, token_",
        ),
        ({"header": "a b", "tenants": {"t": {"models": ["a"]}}}, "'a b' is no header's name"),
        ({"head": "x", "tenants": {"t": {"models": ["a"]}}}, "there is no field 'head'"),
        (
            {"tenants": {name: {"models": ["a"], "token_sha256": SHA} for name in "tu"}},
            "two tenants have the same token_sha256",
        ),
    ],
)
def test_wrong_tenants(said: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tenants.json"
    path.write_text(json.dumps(said))
    with pytest.raises(UsageError, match=message.replace("{", r"\{")):
        read_tenants(path, ["a", "b"])
