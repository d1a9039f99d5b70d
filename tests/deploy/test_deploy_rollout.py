"""A version is asked the artifact's samples before it takes traffic. moto runs nothing, so the real one does."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploy_account import connect
from hypothesis import given
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws
from coldpress.deploy.plan import plan
from coldpress.deploy.rollout import alike, samples
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError


class Answering(Aws):
    """moto's account, where the function itself is run here."""

    function: Callable[[object], Any]

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        if operation != "invoke":
            return super().call(service, operation, **arguments)
        self.calls.append((service, operation))
        answer = type(self).function(json.loads(arguments["Payload"]))
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}


def deployed(account: str, artifact: Artifact, function: Callable[[object], Any], **more: Any) -> Aws:
    class Own(Answering):
        pass

    Own.function = staticmethod(function)
    aws = connect(account, Own)
    plan(aws, Wanted("minilm", artifact, **more)).run()
    return aws


def live(aws: Aws) -> str:
    return str(aws.call("lambda", "get_alias", FunctionName="minilm", Name="live")["FunctionVersion"])


def test_right_answers_go_live_and_wrong_ones_do_not(account: str, artifact: Artifact, tmp_path: Path) -> None:
    right = artifact.function()
    aws = deployed(account, artifact, right)
    assert live(aws) == "1"
    assert [operation for _, operation in aws.calls].count("invoke") == len(samples(artifact)) == 3

    def turned(event: object) -> Any:
        return {"embeddings": [[-number for number in row] for row in right(event)["embeddings"]]}

    with pytest.raises(DeployError, match="version 2 of minilm answers sample 1 of 3 differently"):
        deployed(account, artifact, turned, memory_mb=512)
    assert live(aws) == "1"
    deployed(account, artifact, turned, memory_mb=512, check=False)
    assert live(aws) == "2"


def test_a_function_that_fails_is_not_live(account: str, artifact: Artifact, tmp_path: Path) -> None:
    class Failing(Answering):
        def call(self, service: str, operation: str, **arguments: Any) -> Any:
            if operation == "invoke":
                return {"Payload": io.BytesIO(b'{"errorType": "Runtime.ExitError"}'), "FunctionError": "Unhandled"}
            return super().call(service, operation, **arguments)

    aws = connect(account, Failing)
    with pytest.raises(DeployError, match=r"version 1 of minilm failed: .*Runtime.ExitError.*not made live"):
        plan(aws, Wanted("minilm", artifact)).run()
    assert aws.find("lambda", "get_alias", FunctionName="minilm", Name="live") is None


def test_a_copy_without_samples_is_not_asked(account: str, artifact: Artifact, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(artifact.path, copy, ignore=shutil.ignore_patterns("function"))
    manifest = json.loads((copy / "coldpress.json").read_text())
    for model in manifest["models"].values():
        model["samples"] = []
    (copy / "coldpress.json").write_text(json.dumps(manifest))
    aws = deployed(account, Artifact.open(copy), artifact.function())
    assert ("lambda", "invoke") not in aws.calls and live(aws) == "1"


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(-1e6, 1e6) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(_json)
def test_everything_is_like_itself(value: Any) -> None:
    assert alike(value, json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1.0, 2.0], [1.0]),
        ({"a": 1.0}, {"b": 1.0}),
        ([0.1], [0.9]),
        ("cat", "dog"),
        ([0.5], [float("nan")]),
        ([0.5, 0.5], [0.5, float("nan")]),
        ({"tokens": 384, "vector": [0.01, -0.02]}, {"tokens": 384, "vector": [-0.01, 0.02]}),
        ({"box": [10.0, 600.0], "score": 0.98}, {"box": [10.0, 600.0], "score": 0.02}),
        ({"id": 3, "box": [10.0, 600.0]}, {"id": 17, "box": [10.0, 600.0]}),
        (True, 1),
    ],
)
def test_what_is_not_alike(one: Any, other: Any) -> None:
    assert not alike(one, other)
    assert alike([100.0, 0.1], [100.9, 0.3])
