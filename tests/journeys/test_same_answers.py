"""One function, every way to run it: the same answers, bit for bit."""

import json
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox, base_python
from coldpress.samples import builtin_texts
from coldpress_runtime.function import Function

EVENTS = [
    {"text": "hello"},
    {"text": builtin_texts("coldpress.verify", "samples/texts.jsonl")[:60]},
    {"text": "naïve café 日本語 😀"},
    {"wrong": 1},
]
AWS_CLIENT = [base_python(), "-m", "awslambdaric", "handler.lambda_handler"]


@pytest.fixture(scope="module")
def unzipped(either: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The function as Lambda has it: from the zip, with the modes that the zip says."""
    root = tmp_path_factory.mktemp("task")
    assert either.zip is not None
    with zipfile.ZipFile(either.zip) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            path = Path(archive.extract(info, root))
            path.chmod(info.external_attr >> 16 & 0o777)
    return root


@pytest.fixture(scope="module")
def expected(either: Artifact) -> list[Any]:
    function = Function(str(either.function_folder))
    return [json.loads(function.handle(event)) for event in EVENTS]


def aws_client_env(root: Path) -> dict[str, str]:
    return {"PYTHONPATH": f"{root}:{sysconfig.get_paths()['purelib']}"}


def test_by_our_own_loop(unzipped: Path, expected: list[Any]) -> None:
    with Sandbox(unzipped) as sandbox:
        assert [json.loads(sandbox.invoke(json.dumps(event).encode()).body) for event in EVENTS] == expected


def test_by_aws_client(unzipped: Path, expected: list[Any]) -> None:
    with Sandbox(unzipped, command=AWS_CLIENT, env=aws_client_env(unzipped)) as sandbox:
        assert [json.loads(sandbox.invoke(json.dumps(event).encode()).body) for event in EVENTS] == expected


@pytest.mark.parametrize("client", ["bootstrap", "awslambdaric"])
def test_under_the_official_emulator(client: str, rie: Path, unzipped: Path, expected: list[Any]) -> None:
    from rie import emulator

    command = [str(unzipped / "bootstrap")] if client == "bootstrap" else AWS_CLIENT
    env = {"PATH": f"{Path(base_python()).parent}:/usr/bin:/bin", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769"}
    with emulator(command, unzipped, env | aws_client_env(unzipped), None) as running:
        assert [json.loads(running.invoke(json.dumps(event).encode())[0]) for event in EVENTS] == expected


def test_in_this_process(either: Artifact, expected: list[Any]) -> None:
    call = either.function()
    assert [call(event) for event in EVENTS] == expected


def test_the_manifest_expects_what_the_function_answers(either: Artifact) -> None:
    call = either.function()
    for sample in either.manifest["models"]["minilm"]["samples"]:
        (given,), (wanted,) = call(sample["request"])["embeddings"], sample["answer"]["embeddings"]
        assert max(abs(a - b) for a, b in zip(given, wanted, strict=True)) <= 0.0006
