"""Figures for CloudWatch: lines in its embedded metric format, and a trace that is carried on."""

import json
import os
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from posix import environ
from statistics import median
from threading import Thread
from time import perf_counter_ns
from typing import Any

import pytest
from test_aws_calls import variables as variables

from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox
from coldpress_runtime import settings
from coldpress_runtime.aws.s3 import Bucket
from coldpress_runtime.aws.sqs import Queue
from coldpress_runtime.function import Function
from coldpress_runtime.metrics import NAMES, NAMESPACE, Meter
from coldpress_runtime.runtime_api import Invocation, RuntimeApi

TRACE = "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=1"
#: in a line, by CloudWatch
MOST_METRICS = 100


def lines_of(log: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in log.splitlines() if line.startswith('{"_aws"')]
    for line in found:
        check(line)
    return found


def check(line: dict[str, Any]) -> None:
    """As the format's specification has it: all that is named stands at the line's own top, in a known unit."""
    assert isinstance(line["_aws"]["Timestamp"], int) and line["_aws"]["Timestamp"] > 1.7e12
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == NAMESPACE
    assert directive["Dimensions"] == [["FunctionName"], ["FunctionName", "Model"]]
    assert all(isinstance(line[name], str) for name in ("FunctionName", "Model"))
    named = {one["Name"]: one["Unit"] for one in directive["Metrics"]}
    assert 0 < len(named) <= MOST_METRICS
    assert all(NAMES[name] == unit and isinstance(line[name], int | float) for name, unit in named.items())
    assert {*line} == {"_aws", "FunctionName", "Model", "requestId", "traceId", *named}


def test_a_line_for_each_request(artifact: Artifact) -> None:
    with Sandbox(artifact.function_folder, env={"COLDPRESS_METRICS": "on"}) as sandbox:
        for request in (b'{"text": "hi there"}', b'{"text": ["a", "b c"]}', b'{"wrong": 1}'):
            assert sandbox.invoke(request).ok
        sandbox.invoke(b"{}")  # a line is written after its answer, and before the next request is taken
        first, second, third = lines_of(sandbox.log())[:3]
    assert first["ColdStart"] == 1 and 0 < first["LoadTime"] < 5000
    assert second["ColdStart"] == 0 and "LoadTime" not in second
    assert [(line["BatchSize"], line["Tokens"]) for line in (first, second, third)] == [(1, 4), (2, 7), (0, 0)]
    assert all(0 < line["Latency"] < 5000 and line["Model"] == artifact.name for line in (first, second, third))
    assert {line["Failure"] for line in (first, second, third)} == {0}, "a caller's mistake is none of ours"


@pytest.mark.parametrize(
    ("env", "written"),
    [
        ({}, False),
        ({"COLDPRESS_LOG": "json"}, True),
        ({"COLDPRESS_LOG": "json", "COLDPRESS_METRICS": "off"}, False),
    ],
)
def test_when_it_is_written(artifact: Artifact, env: dict[str, str], written: bool) -> None:
    with Sandbox(artifact.function_folder, env=env) as sandbox:
        sandbox.invoke(b'{"text": "hi"}')
        sandbox.invoke(b'{"text": "hi"}')
        assert bool(lines_of(sandbox.log())) is written


class Quiet(RuntimeApi):
    """Answers that nobody waits for."""

    def respond(self, request_id: str, answer: bytes) -> int:
        return 202


def serve(api: RuntimeApi, function: Function, invocation: Invocation) -> None:
    api.respond(invocation.request_id, b"")


def test_it_takes_next_to_nothing(artifact: Artifact, tmp_path: Path) -> None:
    """At most 50 µs a request, the write to the log included; about 5 are usual."""
    function, api = Function(str(artifact.function_folder)), Quiet("127.0.0.1:1")
    headers = {"lambda-runtime-aws-request-id": "8476a536-e9f4-11e8-9739-2dfe598c3fcd"}
    invocation = Invocation({**headers, "lambda-runtime-trace-id": TRACE}, b"")
    meter = Meter(function, serve, 1.0)
    kept = os.dup(1)
    log = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    times: dict[str, list[int]] = {"without": [], "with": []}
    try:
        sys.stdout.flush()
        os.dup2(log, 1)
        for _ in range(2000):
            for name, one in (("without", serve), ("with", meter)):
                began = perf_counter_ns()
                one(api, function, invocation)
                times[name].append(perf_counter_ns() - began)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(log)
    assert median(times["with"]) - median(times["without"]) <= 50_000
    lines = lines_of((tmp_path / "log").read_text())
    assert len(lines) == 2000 and lines[0]["traceId"] == TRACE and sum(line["ColdStart"] for line in lines) == 1


def test_failures_are_counted(artifact: Artifact, capfd: pytest.CaptureFixture[str]) -> None:
    class Failing(Quiet):
        def fail(self, request_id: str, kind: str, message: str) -> int:
            self.failures += 1
            return 202

    def fails(api: RuntimeApi, function: Function, invocation: Invocation) -> None:
        api.fail(invocation.request_id, "Runtime.Planned", "planned")

    function = Function(str(artifact.function_folder))
    Meter(function, fails, 1.0)(
        Failing("127.0.0.1:1"), function, Invocation({"lambda-runtime-aws-request-id": "1"}, b"")
    )
    (line,) = lines_of(capfd.readouterr().out)
    assert line["Failure"] == 1


def test_code_finds_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all libraries look for it; the C library has its own, which other threads may be reading."""
    monkeypatch.setitem(environ, b"_X_AMZN_TRACE_ID", b"")
    settings.carry_trace(TRACE)
    assert os.environ["_X_AMZN_TRACE_ID"] == TRACE
    assert os.environb[b"_X_AMZN_TRACE_ID"] == TRACE.encode()
    del os.environ._data[b"_X_AMZN_TRACE_ID"]  # type: ignore[attr-defined]


@pytest.fixture
def seen(variables: dict[bytes, bytes]) -> Iterator[list[Any]]:
    """A server that notes the traces of requests."""
    found: list[Any] = []

    class Noting(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            found.append(self.headers.get("x-amzn-trace-id", ""))
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["content-length"])))
            assert self.headers["x-amz-target"] == "AmazonSQS.SendMessageBatch"
            found.extend(entry["MessageSystemAttributes"]["AWSTraceHeader"] for entry in said["Entries"])
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server has it
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Noting) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        variables[b"AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{server.server_port}".encode()
        yield found
        server.shutdown()
        thread.join()


def test_calls_carry_the_trace(seen: list[str], variables: dict[bytes, bytes]) -> None:
    bucket = Bucket("out")
    bucket.put("a", b"1")
    variables[b"_X_AMZN_TRACE_ID"] = TRACE.encode()
    bucket.put("a", b"1")
    assert seen == ["", TRACE]


def test_messages_carry_the_trace(seen: list[Any], variables: dict[bytes, bytes]) -> None:
    """As whoever takes them expects it. moto forgets it in batches, so here is what was sent."""
    variables[b"_X_AMZN_TRACE_ID"] = TRACE.encode()
    Queue("https://sqs.eu-west-1.amazonaws.com/123456789012/answers").send([("a", "b"), ("c", "d")])
    assert seen == [{"DataType": "String", "StringValue": TRACE}] * 2
