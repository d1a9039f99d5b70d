"""Models in S3, against moto over sockets: fetched in parts, checked by their hashes, refused when others."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from many_models import Share, variant
from test_aws_calls import aws as aws
from test_aws_calls import variables as variables

import coldpress
from coldpress.artifact import STORE, Artifact
from coldpress.emulate.front.server import Address
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, running
from coldpress_runtime.faults import LoadError
from coldpress_runtime.function import Function
from coldpress_runtime.many import remote

BUCKET = "models"
HI = {"text": "hi there"}


@pytest.fixture(scope="module")
def built(artifact: Artifact, share: Share) -> Path:
    """`all` with its models in S3, and each of the models by itself."""

    def fill(folder: Path) -> None:
        folder.mkdir()
        models = {name: variant(artifact, number, folder / name) for number, name in enumerate("ab", 20)}
        coldpress.build(models=models, out=folder / "all", models_at=f"s3://{BUCKET}/pressed/", package="zip")

    return share("remote", fill)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "tmp"
    monkeypatch.setattr(remote.Remote.__init__, "__defaults__", (str(place),))
    return place


@pytest.fixture
def bucket(aws: Any, built: Path) -> Any:
    s3 = aws("s3")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    put_all(s3, built)
    return s3


def put_all(s3: Any, built: Path) -> None:
    store = built / "all" / STORE
    for path in sorted(path for path in store.rglob("*") if path.is_file()):
        s3.put_object(Bucket=BUCKET, Key=f"pressed/{path.relative_to(store).as_posix()}", Body=path.read_bytes())


def key_of(built: Path, name: str) -> str:
    index = json.loads((built / "all" / "function" / "models" / "index.json").read_text())
    return f"pressed/{index['models'][name]['files']['model.press']['key']}"


def function(built: Path) -> Function:
    return Function(str(built / "all" / "function"))


def test_the_package_is_light(built: Path) -> None:
    made = Artifact.open(built / "all")
    assert made.manifest["sizes"]["zip"] < 1_500_000
    assert not made.changed_files()
    assert sum(name.startswith(f"{STORE}/") for name in made.manifest["files"]) == 2


def test_fetched_once_and_right(bucket: Any, built: Path, room: Path) -> None:
    served = function(built)
    for name in "abab":
        assert served.call({"model": name, **HI}) == Artifact.open(built / name).function()(HI)
    for name in "ab":
        bucket.delete_object(Bucket=BUCKET, Key=key_of(built, name))
    assert served.many is not None
    while served.many.shelf.open_names:  # as if other models had needed the room
        served.many.shelf._held.popitem()
    assert served.call({"model": "a", **HI}) == Artifact.open(built / "a").function()(HI)


def test_what_another_process_left_is_checked(bucket: Any, built: Path, room: Path) -> None:
    expected = function(built).call({"model": "a", **HI})
    path = room / "a" / "model.press"
    bucket.delete_object(Bucket=BUCKET, Key=key_of(built, "a"))
    assert function(built).call({"model": "a", **HI}) == expected  # it is there, and whole
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(LoadError, match="the model 'a' is not at s3://models/pressed/"):
        function(built).call({"model": "a", **HI})


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda data, other: data[:-1], r"has 24,503,359 bytes, and 24,503,360 when the function was built"),
        (
            lambda data, other: data[:9_000_000] + b"x" + data[9_000_001:],
            r"bytes 8,388,608 to 16,777,216 of .* hash",
        ),
        (lambda data, other: data[:-1] + bytes([data[-1] ^ 1]), r"bytes 16,777,216 to 24,503,360 of .* hash"),
        (lambda data, other: other, r"is refused: bytes .* hash to \w{12}…, and to \w{12}… when"),
        (lambda data, other: b"", r"has 0 bytes"),
    ],
    ids=["truncated", "corrupt", "last byte", "swapped", "empty"],
)
def test_another_model_is_refused(bucket: Any, built: Path, room: Path, harm: Any, said: str) -> None:
    """By its hash, before it is opened; the next request tries again."""
    served = function(built)
    paths = {name: next((built / name / "function" / "models").rglob("model.press")) for name in "ab"}
    whole = paths["a"].read_bytes()
    bucket.put_object(Bucket=BUCKET, Key=key_of(built, "a"), Body=harm(whole, paths["b"].read_bytes()))
    for _ in range(2):
        with pytest.raises(LoadError, match=said) as refused:
            served.call({"model": "a", **HI})
        assert "the model 'a' is refused" in str(refused.value)
        assert not (room / "a" / "model.press").exists()
        assert served.call({"model": "b", **HI}) == Artifact.open(built / "b").function()(HI)
    bucket.put_object(Bucket=BUCKET, Key=key_of(built, "a"), Body=whole)
    assert served.call({"model": "a", **HI}) == Artifact.open(built / "a").function()(HI)


def test_no_room_on_the_disk(bucket: Any, built: Path, room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used longest ago goes; what is open stays; and if that is not enough, it says so."""
    served = function(built)
    served.call({"model": "a", **HI})
    (room / "stray").mkdir()
    (room / "stray" / "file").write_bytes(b"x")
    left = iter([0, 0, 10**9])
    monkeypatch.setattr(remote.Remote, "_free", lambda self: next(left))
    with pytest.raises(LoadError, match=r"'b' has 25 MB, and /tmp has 0 MB left: give the function more .*--tmp"):
        served.call({"model": "b", **HI})
    assert names_in(room) == ["a", "b"]
    assert served.many is not None
    served.many.shelf._held.clear()
    left = iter([0, 10**9])
    served.call({"model": "b", **HI})
    assert names_in(room) == ["b"]


@pytest.fixture
def slow(account: str) -> Iterator[tuple[str, threading.Event]]:
    """A proxy before S3 that holds back what is asked of it until it is told to go on."""
    go_on, place = threading.Event(), account.removeprefix("http://")

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            go_on.wait(60)
            upstream = HTTPConnection(place)
            upstream.request(self.command, self.path, headers={**self.headers, "host": place})
            answer = upstream.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name in ("etag", "content-length"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.end_headers()
            self.wfile.write(data)
            upstream.close()

        do_HEAD = do_GET  # noqa: N815 - as http.server calls them

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server has it
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", go_on
        go_on.set()
        server.shutdown()
        thread.join()


def test_opening_one_keeps_nobody_else_waiting(
    bucket: Any, built: Path, slow: tuple[str, threading.Event]
) -> None:
    """As on Managed Instances, in a real sandbox: `b` is on its way for seconds, and `a` answers all the while."""
    proxy, go_on = slow
    env = {"AWS_ENDPOINT_URL_S3": proxy, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    settings = Settings(name="all", at_once=4, concurrency=1, env=env)
    with running(built / "all", settings, Options(Address(port=0), network=True)) as local:
        go_on.set()
        expected = ask(local.url, "a")
        go_on.clear()
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(ask, local.url, "b") for _ in range(2)]
            time.sleep(0.3)
            began = time.monotonic()
            assert all(ask(local.url, "a") == expected for _ in range(50))
            took = time.monotonic() - began
            assert not any(one.done() for one in waiting) and took < 5
            go_on.set()
            assert [one.result() for one in waiting] == [Artifact.open(built / "b").function()(HI)] * 2
    assert expected == Artifact.open(built / "a").function()(HI)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ask(url: str, model: str) -> Any:
    request = urllib.request.Request(f"{url}/models/{model}", json.dumps(HI).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())
