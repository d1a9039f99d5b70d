"""What many tests share: models are pressed once per run."""

import json
import os
import shutil
import signal
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.world.cgroups import find_groups
from coldpress.intake.demo import demo_folder
from coldpress_runtime.function import Function

RIE = Path(__file__).parent.parent / ".cache" / "aws-lambda-rie"


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell's background job ignores Ctrl-C, and so would all that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_cache() -> Iterator[None]:
    """A cache for this run alone, also for the processes that it starts: empty at first, shared by all tests."""
    folder = tempfile.mkdtemp(prefix="coldpress-tests-")
    os.environ["COLDPRESS_CACHE"] = folder
    yield
    shutil.rmtree(folder)


#: what holds against a clock, or counts processes: it runs when nothing else does (`make test` has two turns)
ALONE = (
    *("bench", "choose", "emulate", "journeys", "traffic"),
    *("bulk/test_map_speed.py", "deploy/test_canary.py", "many/test_many_zipf.py", "test_published.py"),
)


#: files that take a minute and more are begun first, so that no process is left with one while the others are done
LONG = (
    *("native/test_press.py", "native/test_unigram.py", "optimize/test_torchscript.py"),
    *("package/test_function.py", "native/test_fuzz.py", "runtime/test_bad_input.py"),
    *("verify/test_recheck.py", "native/test_bpe.py"),
    *("export/test_export_terraform.py", "examples/test_examples.py", "examples/test_moving.py"),
    *("deploy/test_deploy_queues.py", "tasks/test_text_tasks.py", "deploy/test_deploy_manage.py"),
    *("tasks/test_audio_tasks.py", "deploy/test_deploy_buckets.py", "intake/test_live.py", "test_action.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    turn = {name: number for number, name in enumerate(LONG)}
    for item in items:
        place = item.path.relative_to(here).as_posix()
        if place.startswith(tuple(one if one.endswith(".py") else f"{one}/" for one in ALONE)):
            item.add_marker(pytest.mark.alone)
    items.sort(key=lambda item: turn.get(item.path.relative_to(here).as_posix(), len(LONG)))


Share = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def share(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Share:
    """A folder that is filled once, however many processes run these tests."""
    root = tmp_path_factory.getbasetemp()
    root = root if worker_id == "master" else root.parent

    def filled(name: str, fill: Callable[[Path], object]) -> Path:
        folder, done = root / f"shared-{name}", root / f"shared-{name}.done"
        with FileLock(root / f"shared-{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a process that failed half-way
                fill(folder)
                done.touch()
        return folder

    return filled


@pytest.fixture(scope="session")
def artifact(share: Share) -> Artifact:
    """The real MiniLM, zipped, all left to the chooser: the same artifact and settings for every bar."""
    pressed = Artifact.open(share("minilm", lambda out: coldpress.build("demo:minilm", out=out)))
    assert pressed.manifest["engine"] == "press"
    return pressed


@pytest.fixture(scope="session")
def measured(artifact: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """The same with a bench.json, of few runs; at three sizes where they can be held."""
    place = tmp_path_factory.mktemp("measured") / "minilm"
    shutil.copytree(artifact.path, place)
    held, _ = find_groups()
    if held is not None:
        held.close()
    copy = Artifact.open(place)
    copy.bench(cold_runs=8, warm_runs=40, sweep=(128, 512, 1769) if held else None)
    return copy


@pytest.fixture(scope="session")
def graph_artifact(share: Share) -> Artifact:
    """The same model as a graph for onnxruntime, int8, zipped."""

    def press(out: Path) -> None:
        coldpress.build("demo:minilm", out=out, engine="onnxruntime", precision="int8")

    return Artifact.open(share("graph", press))


@pytest.fixture(scope="session", params=["press", "onnxruntime"])
def either(request: pytest.FixtureRequest) -> Artifact:
    """Each engine in turn: what a function does must not depend on what runs inside."""
    name = "artifact" if request.param == "press" else "graph_artifact"
    made: Artifact = request.getfixturevalue(name)
    return made


@pytest.fixture(scope="session")
def function(either: Artifact) -> Function:
    return Function(str(either.function_folder))


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    return demo_folder("demo:minilm")


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory, minilm_folder: Path) -> Path:
    """A BERT of two narrow layers with random weights and MiniLM's real tokenizer: quick to press."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny") / "tiny-bert"
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=128,
        vocab_size=30522,
        initializer_range=0.1,
    )
    BertModel(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(minilm_folder).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_artifact(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Artifact:
    return coldpress.build(tiny_folder, out=tmp_path_factory.mktemp("tiny-out") / "out", precision="fp32")


@pytest.fixture(scope="session")
def rie() -> Path:
    assert RIE.exists(), "the official emulator is missing: `make test` fetches it"
    return RIE


@pytest.fixture
def ask(function: Function) -> Any:
    """Ask the function directly: an event in, its answer parsed."""

    def ask_it(event: object) -> Any:
        return json.loads(function.handle(event))

    return ask_it


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """AWS, as far as moto's server stands in for it."""
    from moto.server import ThreadedMotoServer

    made = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    host, port = made.get_host_and_port()
    yield f"http://{host}:{port}"
    made.stop()


@pytest.fixture
def account(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty one."""
    urllib.request.urlopen(urllib.request.Request(f"{server}/moto-api/reset", method="POST")).read()
    for name, value in (
        ("ACCESS_KEY_ID", "key"),
        ("SECRET_ACCESS_KEY", "secret"),
        ("DEFAULT_REGION", "eu-west-1"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    return server
