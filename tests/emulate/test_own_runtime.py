"""Our own runtime in the local Lambda: streams, SnapStart, several at once, the same answers as ever."""

import json
import socket
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest
from emulate_judges import PATH, place, post

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.front.function_url import UrlSettings
from coldpress.emulate.front.server import Address
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, Running, running

EVENT = json.dumps({"text": ["hello", "local Lambda"]}).encode()
COUNTS = """import time


class Model:
    def predict(self, inputs):
        for n in range(inputs["to"]):
            time.sleep(0.2)
            if n == inputs.get("fail"):
                raise ValueError("on purpose")
            yield {"n": n}
"""


def expected(artifact: Artifact) -> Any:
    return artifact.function()({"text": ["hello", "local Lambda"]})


def test_the_same_answer_as_in_this_process(either: Artifact) -> None:
    with running(either.path) as served:
        assert post(served.url + PATH, EVENT).value == expected(either)
        assert post(f"{served.url}/", EVENT).value == expected(either)


def test_from_python(artifact: Artifact) -> None:
    with artifact.serve(memory_mb=885, env={"COLDPRESS_LOG": "json"}) as url:
        assert post(f"{url}/2015-03-31/functions/{artifact.name}/invocations", EVENT).value == expected(artifact)
        status = json.load(urllib.request.urlopen(f"{url}/_/status"))
    assert status["function"]["memory_mb"] == 885 and status["function"]["task"] == "embeddings"


def test_snapstart(artifact: Artifact) -> None:
    with running(artifact.path, Settings(snap_start=True)) as served:
        assert post(served.url + PATH, EVENT).value == expected(artifact)
    report = next(entry.line for entry in served.log if entry.line.startswith("REPORT"))
    restored = float(report.split("Restore Duration: ")[1].split(" ")[0])
    assert restored < 10, "nothing is left to do after the snapshot"


def test_several_at_once_in_one_sandbox(artifact: Artifact) -> None:
    with running(artifact.path, Settings(at_once=8, concurrency=1)) as served:
        url = served.url + PATH
        post(url, EVENT)
        with ThreadPoolExecutor(8) as pool:
            answers = [*pool.map(lambda _: post(url, EVENT), range(200))]
        assert all(answer.value == expected(artifact) for answer in answers)
        assert len(served.local.fleet.sandboxes) == 1


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("streaming")
    (folder / "coldpress.toml").write_text('[function]\nname = "counts"\ncode = "counts.py:Model"\n')
    (folder / "counts.py").write_text(COUNTS)
    built = coldpress.build(folder, out=folder / "out")
    options = Options(Address(port=0), UrlSettings(streams=True))
    with running(built.path, Settings(env={"COLDPRESS_STREAM": "on"}), options) as served:
        yield served


def test_a_url_streams(streaming: Running) -> None:
    request = urllib.request.Request(f"{streaming.url}/", data=b'{"to": 4}', method="POST")
    with urllib.request.urlopen(request) as response:
        assert response.headers["content-type"] == "text/event-stream"
        times = []
        for line in response:
            if line.startswith(b"data:"):
                times.append(time.monotonic())
    assert len(times) == 4
    assert times[-1] - times[0] > 0.5, "each came when it was made"


def test_boto3_streams(streaming: Running) -> None:
    client = boto3.client(
        "lambda",
        endpoint_url=streaming.url,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
    )
    times, data = [], b""
    answer = client.invoke_with_response_stream(FunctionName="function", Payload=b'{"to": 4}')
    for event in answer["EventStream"]:
        if "PayloadChunk" in event:
            times.append(time.monotonic())
            data += event["PayloadChunk"]["Payload"]
    assert [json.loads(line)["n"] for line in data.splitlines()] == [0, 1, 2, 3]
    assert times[-1] - times[0] > 0.5
    answer = client.invoke_with_response_stream(FunctionName="function", Payload=b'{"to": 4, "fail": 2}')
    events: list[Any] = [*answer["EventStream"]]
    last = events[-1]
    assert len(events) == 3
    assert last["InvokeComplete"]["ErrorCode"] == "Runtime.ValueError"
    assert json.loads(last["InvokeComplete"]["ErrorDetails"])["errorMessage"] == "on purpose"
    client.close()


def test_a_slow_reader_slows_the_stream(tmp_path: Path) -> None:
    """A hundred megabytes to somebody who reads nothing for a while: they wait in the function, not here."""
    options = Options(Address(port=0), UrlSettings(streams=True))
    with running(place("flood", tmp_path), Settings(), options) as served:
        host, port = served.url.removeprefix("http://").split(":")
        before = _resident_mb()
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            time.sleep(1)
            assert _resident_mb() - before < 30
            size = 0
            while size < 100 << 20:
                size += len(connection.recv(1 << 20))
        assert _resident_mb() - before < 30


def _resident_mb() -> float:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def test_a_stream_is_collected_for_who_invokes_plainly(streaming: Running) -> None:
    answer = post(streaming.url + PATH, b'{"to": 2}')
    assert [json.loads(line)["n"] for line in answer.body.splitlines()] == [0, 1]
