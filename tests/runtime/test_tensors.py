"""The tensors task: every type there and back, every way of being wrong named."""

import base64
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor, nn

import coldpress
from coldpress.artifact import Artifact
from coldpress_runtime.function import Function

KINDS = ["float32", "int64", "int32", "int16", "int8", "uint8", "bool"]


class Echo(nn.Module):
    """Gives back what it gets, of every type, and a few that it makes."""

    def forward(
        self,
        float32: Tensor,
        int64: Tensor,
        int32: Tensor,
        int16: Tensor,
        int8: Tensor,
        uint8: Tensor,
        bool: Tensor,  # noqa: A002 - named as its type, like the others
    ) -> dict[str, Tensor]:
        same = [float32, int64, int32, int16, int8, uint8, bool]
        outputs = {kind: tensor.clone() for kind, tensor in zip(KINDS, same, strict=True)}
        return {
            **outputs,
            "float64": float32.double() / 3,
            "float16": float32.clamp(-9, 9).half(),
            "one": float32.clamp(-9, 9).sum() * 0 + 0.5,  # the largest numbers' sum would be infinite
        }


def inputs(rows: int = 2) -> dict[str, Tensor]:
    torch.manual_seed(0)
    made = {"float32": torch.randn(rows, 3)}
    for kind in KINDS[1:-1]:
        made[kind] = torch.randint(0, 100, (rows, 3), dtype=getattr(torch, kind))
    made["bool"] = torch.randint(0, 2, (rows, 3)).bool()
    return made


@pytest.fixture(scope="module")
def artifact_of_tensors(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    out = tmp_path_factory.mktemp("tensors") / "out"
    return coldpress.build(Echo(), out=out, inputs=inputs(), precision="fp32", package="none", name="echo")


@pytest.fixture(scope="module")
def echo(artifact_of_tensors: Artifact) -> Any:
    function = Function(str(artifact_of_tensors.function_folder))
    return lambda event: json.loads(function.handle(event))


def as_lists(tensors: dict[str, Tensor]) -> dict[str, Any]:
    return {name: tensor.tolist() for name, tensor in tensors.items()}


def as_base64(tensor: Tensor, kind: str) -> dict[str, Any]:
    data = base64.b64encode(tensor.numpy().tobytes()).decode()
    return {"type": kind, "shape": list(tensor.shape), "data": data}


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_every_type_comes_back_as_it_went(echo: Any, rows: int) -> None:
    given_in = inputs(rows)
    outputs = echo({"inputs": as_lists(given_in)})["outputs"]
    for kind in KINDS:
        assert np.array_equal(np.array(outputs[kind], kind), given_in[kind].numpy())
    assert all(isinstance(value, bool) for row in outputs["bool"] for value in row)
    assert np.array_equal(np.array(outputs["float64"]), given_in["float32"].double().numpy() / 3)
    assert np.array_equal(np.float16(outputs["float16"]), given_in["float32"].clamp(-9, 9).half().numpy())
    assert outputs["one"] == 0.5


def test_base_64_in_and_out(echo: Any) -> None:
    given_in = inputs(3)
    request = {"inputs": {kind: as_base64(given_in[kind], kind) for kind in KINDS}, "encoding": "base64"}
    outputs = echo(request)["outputs"]
    for kind in KINDS:
        assert outputs[kind] == as_base64(given_in[kind], kind)
    assert outputs["one"]["shape"] == []


@settings(deadline=None, max_examples=50)
@example(np.full((4, 3), np.finfo(np.float32).max))
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 4), st.just(3)),
        elements=st.floats(allow_nan=False, allow_infinity=False, width=32),
    )
)
def test_floats_come_back_exactly(echo: Any, floats: Any) -> None:
    request = as_lists(inputs(len(floats))) | {"float32": floats.tolist()}
    answer = echo({"inputs": request})["outputs"]["float32"]
    assert np.array_equal(np.array(answer, np.float32), floats)


def wrong(**changed: Any) -> dict[str, Any]:
    return {"inputs": as_lists(inputs()) | changed}


@pytest.mark.parametrize(
    ("request_body", "code", "said"),
    [
        ([1], "wrong_type", "must be a JSON object"),
        ({}, "missing_field", "'inputs' must be an object"),
        ({"inputs": 3}, "missing_field", "'inputs' must be an object"),
        ({"inputs": {"float32": [[1, 2, 3]]}}, "missing_field", "inputs.int64 is missing"),
        (wrong(surprise=[1]), "unknown_input", "this model takes float32, int64"),
        (wrong(float32=[[1, 2], [3, 4]]), "wrong_shape", r"the shape \[2, 2\]; this model takes \[any, 3\]"),
        (wrong(float32=[[1, 2, 3], [4, 5]]), "wrong_shape", r"inputs.float32\[1\] has the shape \[2\]"),
        (wrong(float32=[1, 2, 3]), "wrong_shape", r"inputs.float32\[0\] must be a list, 1 deep"),
        (wrong(float32=7), "wrong_shape", "must be a list, 2 deep"),
        (wrong(float32=[[1, "2", 3]]), "wrong_type", r"inputs.float32\[0\]\[1\] must be a number"),
        (wrong(float32=[[[1], [2], [3]]]), "wrong_type", "must be a number"),
        (wrong(float32=[]), "wrong_shape|empty_input", "shape"),
        (wrong(int8=[[1, 2, 300]] * 2), "wrong_type", "no int8"),
        (wrong(int64=[[1, 2, 0.5]] * 2), "wrong_type", "no int64"),
        (wrong(float32=[[1, 2, 1e300]] * 2), "wrong_type", "no float32"),
        (wrong(float32={"type": "int8", "shape": [1, 3], "data": ""}), "wrong_type", "takes float32"),
        (wrong(float32={"shape": "1x3", "data": ""}), "wrong_type", "list of sizes"),
        (wrong(float32={"shape": [1, -3], "data": ""}), "wrong_type", "list of sizes"),
        (wrong(float32={"shape": [1, 3], "data": 5}), "wrong_type", "base64 in a text"),
        (wrong(float32={"shape": [1, 3], "data": "A"}), "invalid_base64", "is not base64"),
        (wrong(float32={"shape": [1, 3], "data": "AAAA"}), "wrong_shape", "3 bytes; float32 .* has 12"),
        (wrong(float32={"shape": [10**18, 3], "data": "AAAA"}), "wrong_shape", "3 bytes"),
        (wrong() | {"encoding": "morse"}, "unsupported_value", "json, base64"),
    ],
)
def test_what_is_wrong_is_named(echo: Any, request_body: Any, code: str, said: str) -> None:
    import re

    error = echo(request_body)["error"]
    assert re.fullmatch(code, error["code"])
    assert re.search(said, error["message"])
    assert echo({"inputs": as_lists(inputs())})["outputs"]["one"] == 0.5, "it lives on"


def test_inputs_of_different_batches_are_the_engines_to_refuse(echo: Any) -> None:
    """What the shapes in task.json cannot say: the engine's own error, and no crash."""
    odd = as_lists(inputs(2)) | {"int8": [[1, 2, 3]] * 5}
    assert echo({"inputs": odd})["outputs"]["int8"] == [[1, 2, 3]] * 5


class NotFinite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 1 / x


def test_what_is_not_finite_never_reaches_json(tmp_path: Path) -> None:
    from coldpress_runtime.faults import EngineError

    pressed = coldpress.build(
        NotFinite(), out=tmp_path / "out", inputs=torch.rand(2, 3) + 1, precision="fp32", package="none"
    )
    function = Function(str(pressed.function_folder))
    assert json.loads(function.handle({"inputs": [[1, 2, 4]]}))["outputs"]["output"] == [[1, 0.5, 0.25]]
    with pytest.raises(EngineError, match="not a finite number"):
        function.handle({"inputs": [[1, 0, 4]]})
    raw = json.loads(function.handle({"inputs": [[1, 0, 4]], "encoding": "base64"}))["outputs"]["output"]["data"]
    assert math.isinf(np.frombuffer(base64.b64decode(raw), np.float32)[1]), "bits are bits"


def test_the_document_says_what_is_taken(artifact_of_tensors: Artifact) -> None:
    event = {
        "version": "2.0",
        "requestContext": {"http": {"method": "GET", "path": "/openapi.json"}},
        "rawPath": "/openapi.json",
        "headers": {},
    }
    reply = json.loads(Function(str(artifact_of_tensors.function_folder)).handle(event))
    document = json.loads(reply["body"])
    assert "float32 (float32, [any, 3])" in document["info"]["description"]
    body = document["paths"]["/"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["properties"]["inputs"]["properties"]) == set(KINDS)
