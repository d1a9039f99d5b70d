"""The same model as others serve it, on AWS's own runtime client, beside ours."""

import re
import shutil
from pathlib import Path

import pytest

from coldpress.artifact import Artifact
from coldpress.bench.peers import find_peers, packages
from coldpress.bench.result import Bench
from coldpress.bench.run import run_bench
from coldpress.errors import MissingPart, UsageError


@pytest.fixture
def tiny(tiny_artifact: Artifact, tmp_path: Path) -> Artifact:
    shutil.copytree(tiny_artifact.path, tmp_path / "out")
    return Artifact.open(tmp_path / "out")


def check(bench: Bench, name: str, packages_mb: float) -> None:
    ours, peer = bench.against
    assert (ours.name, ours.cold_ratio) == ("coldpress", 1.0)
    assert ours.cosine == pytest.approx(1.0)
    assert peer.name == name
    assert peer.cosine > 0.97
    assert peer.cold_ratio > 1
    assert peer.packages_mb > packages_mb > ours.packages_mb
    assert peer.peak_mb > ours.peak_mb
    assert peer.warm.keys() == ours.warm.keys() == bench.warm.keys()


def test_the_expert(tiny: Artifact, tiny_folder: Path) -> None:
    bench = run_bench(tiny.path, cold_runs=1, warm_runs=2, against=["expert"], original=tiny_folder)
    check(bench, "expert", 100)


@pytest.mark.slow
def test_the_classic(tiny: Artifact, tiny_folder: Path) -> None:
    bench = run_bench(tiny.path, cold_runs=1, warm_runs=2, against=["classic"], original=tiny_folder)
    check(bench, "classic", 500)


def test_the_original_must_be_found(tiny: Artifact, artifact: Artifact, minilm_folder: Path) -> None:
    with pytest.raises(UsageError, match=r"'tiny-bert'.*--original"):
        find_peers(tiny, ["expert"])
    with pytest.raises(UsageError, match="not the model that was pressed"):
        run_bench(tiny.path, cold_runs=1, warm_runs=1, against=["expert"], original=minilm_folder)
    found = find_peers(artifact, ["expert", "expert"])
    assert found is not None
    assert (found.names, found.model) == (("expert",), "demo:minilm")


def test_what_has_no_peers(hungry: Path, tiny: Artifact) -> None:
    with pytest.raises(UsageError, match="code of one's own"):
        find_peers(Artifact.open(hungry), ["classic"])
    tiny.manifest["models"]["tiny-bert"]["task"] = "reranking"
    with pytest.raises(UsageError, match="is for reranking"):
        find_peers(tiny, ["classic"])


def test_a_package_that_is_not_there(tiny: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_is_here", lambda name: name not in {"awslambdaric", "tokenizers"})
    with pytest.raises(MissingPart) as lost:
        find_peers(tiny, ["expert"])
    assert "pip install tokenizers==0.23.3 awslambdaric==4.2.2" in str(lost.value)


def test_the_versions_are_those_of_the_constraints() -> None:
    lines = (Path(__file__).parents[2] / "constraints.txt").read_text().splitlines()
    found = (re.fullmatch(r"([\w.-]+)==(\S+)", line) for line in lines)
    pinned = {one[1]: one[2] for one in found if one}
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for name, version in packages.VERSIONS.items():
        assert pinned.get(name) == version or f'"{name}=={version}"' in project, name
