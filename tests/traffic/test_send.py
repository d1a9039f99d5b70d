"""Real requests to real sockets: nothing that a stuck server does is left out, every kind of answer is read."""

import asyncio
import math
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from coldpress.errors import FunctionError, UsageError
from coldpress.traffic import send_traffic
from coldpress.traffic.rows import Kind
from coldpress.traffic.send import Moment

Serve = Callable[..., str]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def ok(number: int, request: bytes) -> bytes:
    return OK


@pytest.mark.parametrize("connections", [256, 1])
def test_a_frozen_server_is_seen_by_all_who_would_have_asked(serve: Serve, connections: int) -> None:
    """No coordinated omission: one second of silence is seen by the 200 that were due in it, also by those that
    could not even be sent."""

    async def freezes(number: int, request: bytes) -> bytes:
        if number == 40:
            time.sleep(1)  # the whole server stands still
        return OK

    url = serve(freezes)
    done = send_traffic(url, rate=200, duration=1.4, poisson=False, connections=connections)
    assert done.summary.good == 280
    slow = [latency for latency in done.rows.latency_ms if latency > 50]
    assert len(slow) == pytest.approx(190, abs=25)
    assert sum(latency > 500 for latency in slow) == pytest.approx(100, abs=25)
    service = [done.rows.service_ms(row) for row in range(280)]
    if connections == 1:  # what a closed loop would have told: one slow request
        assert sum(took > 50 for took in service) <= 3
        assert done.summary.sender.waited == pytest.approx(200, abs=30)
        assert not done.summary.sender.on_time
    else:
        assert sum(took > 50 for took in service) == pytest.approx(190, abs=25)
        assert done.summary.sender.waited == 0


def test_requests_leave_at_their_times(serve: Serve) -> None:
    done = send_traffic(serve(ok), rate=400, duration=0.5, poisson=False)
    assert sorted(done.rows.at) == pytest.approx([number / 400 for number in range(200)], abs=1e-6)
    assert min(done.rows.lag_ms) > -0.01  # a timer may be a tick of the clock early
    assert done.summary.sender.lag_ms is not None
    assert done.summary.sender.lag_ms.p50 < 2
    assert done.summary.achieved_rate == pytest.approx(400, rel=0.1)


def test_what_is_sent(serve: Serve) -> None:
    seen: list[bytes] = []

    async def notes(number: int, request: bytes) -> bytes:
        seen.append(request)
        return OK

    url = serve(notes)
    send_traffic(f"{url}/v1?x=1", rate=1, duration=1, poisson=False, body=b'{"a": 1}', headers=("X-Own: 1",))
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1?x=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nX-Own: 1\r\n" in head
    assert b"X-Amz-Log-Type" not in head
    assert b"Content-Type: application/json" in head
    assert body == b'{"a": 1}'


def test_bodies_of_a_trace(serve: Serve, tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def notes(number: int, request: bytes) -> bytes:
        seen.append(request.partition(b"\r\n\r\n")[2])
        return OK

    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"at": 0, "body": {"n": 1}}\n{"at": 100}\n{"at": 200, "body": "x"}\n')
    done = send_traffic(serve(notes), trace=trace, speed=1000, body=b"usual")
    assert seen == [b'{"n": 1}', b"usual", b'"x"']
    assert done.summary.seconds >= 0.2


PIECES = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
UNTIL_CLOSED = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"
CLOSED = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
ANNOUNCED = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK


@pytest.mark.parametrize("reply", [OK, PIECES, UNTIL_CLOSED, CLOSED, ANNOUNCED, b"HTTP/1.1 204 No\r\n\r\n"])
def test_every_way_that_an_answer_ends(serve: Serve, reply: bytes) -> None:
    async def answer(number: int, request: bytes) -> bytes:
        return reply

    done = send_traffic(serve(answer), rate=200, duration=0.1, poisson=False, connections=4, timeout=2)
    assert done.summary.good == 20, done.summary
    assert done.summary.bytes_received == 20 * len(reply)
    assert done.summary.cold is None


@pytest.mark.parametrize(
    ("reply", "kind", "problem"),
    [
        (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", Kind.STATUS, ""),
        (b"HTTP/1.1 302 Go\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", Kind.STATUS, ""),
        (b"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", Kind.THROTTLED, ""),
        (b"HTTP/1.1 200 OK\r\nX-Amz-Function-Error: Unhandled\r\nContent-Length: 0\r\n\r\n", Kind.FUNCTION, ""),
        (b"", Kind.CONNECTION, "hung up before"),
        (
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nab",
            Kind.CONNECTION,
            "hung up before",
        ),
        (b"SSH-2.0-OpenSSH\r\n", Kind.CONNECTION, "not HTTP"),
        (b"HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Kind.CONNECTION, "not HTTP"),
    ],
)
def test_every_kind_of_failure(serve: Serve, reply: bytes, kind: Kind, problem: str) -> None:
    async def answer(number: int, request: bytes) -> bytes:
        return OK if number % 2 else reply

    done = send_traffic(serve(answer), rate=100, duration=0.1, poisson=False, timeout=2)
    assert done.rows.kinds == {Kind.GOOD: 5, kind: 5}
    assert all(problem in words for words in done.summary.problems)
    assert bool(done.summary.problems) == bool(problem)
    assert done.summary.errors[kind.name.lower()] == 5


def test_time_outs_count_from_the_schedule(serve: Serve) -> None:
    async def never(number: int, request: bytes) -> bytes:
        await asyncio.sleep(60)
        return OK

    done = send_traffic(serve(never), rate=40, duration=0.25, poisson=False, connections=1, timeout=0.3)
    assert done.rows.kinds[Kind.TIMEOUT] >= 1
    assert done.rows.kinds[Kind.UNSENT] >= 1  # nobody was there to send them, and they are not the server's
    assert len(done.rows) == 10
    assert all(300 <= latency < 600 for latency in done.rows.latency_ms)
    assert all(
        math.isnan(done.rows.service_ms(row)) == (kind == Kind.UNSENT) for row, kind in enumerate(done.rows.kind)
    )


def test_the_invoke_api_tells_of_cold_starts(serve: Serve) -> None:
    seen: list[bytes] = []
    report = b"REPORT RequestId: 1\tDuration: 3.00 ms\tBilled Duration: 3 ms\tMemory Size: 128 MB\t"

    async def invoke(number: int, request: bytes) -> bytes:
        seen.append(request)
        log = b64encode(report + (b"Init Duration: 12.34 ms\t\n" if number < 2 else b"\n"))
        return b"HTTP/1.1 200 OK\r\nX-Amz-Log-Result: %b\r\nContent-Length: 2\r\n\r\n{}" % log

    url = f"{serve(invoke)}/2015-03-31/functions/my-function/invocations"
    done = send_traffic(url, rate=50, duration=0.2, poisson=False)
    assert all(b"\r\nX-Amz-Log-Type: Tail\r\n" in request for request in seen)
    assert done.summary.cold is not None
    assert (done.summary.cold.told, done.summary.cold.count, done.summary.cold.share) == (10, 2, 0.2)
    assert done.summary.cold.init_ms is not None
    assert done.summary.cold.init_ms.p95 == pytest.approx(12.34, abs=0.01)
    assert done.summary.billed_ms == 30


def test_what_is_shown_meanwhile(serve: Serve) -> None:
    moments: list[Moment] = []
    done = send_traffic(serve(ok), rate=100, duration=1.2, watch=moments.append)
    assert len(moments) == 2
    assert 0 < moments[0].sent <= moments[1].sent <= done.summary.scheduled
    assert moments[1].rate == pytest.approx(100, rel=0.4)
    assert moments[1].cold is None
    assert moments[1].p99_ms is not None


def test_an_error_of_the_one_who_watches_ends_it(serve: Serve) -> None:
    def fails(moment: Moment) -> None:
        raise BrokenPipeError

    began = time.monotonic()
    with pytest.raises(BrokenPipeError):
        send_traffic(serve(ok), rate=10, duration=30, watch=fails)
    assert time.monotonic() - began < 5


def test_an_interrupt_leaves_what_was_done(serve: Serve) -> None:
    async def slow_later(number: int, request: bytes) -> bytes:
        await asyncio.sleep(60 if number >= 20 else 0)
        return OK

    before = signal.getsignal(signal.SIGINT)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    done = send_traffic(serve(slow_later), rate=100, duration=60, poisson=False)
    assert signal.getsignal(signal.SIGINT) is before
    assert done.summary.interrupted
    assert done.summary.seconds == pytest.approx(0.5, abs=0.3)
    assert done.summary.good == 20
    assert done.summary.unfinished == done.summary.scheduled - 20 > 0
    assert done.summary.offered_rate == pytest.approx(100, rel=0.2)


def test_from_another_thread(serve: Serve) -> None:
    found: list[int] = []
    url = serve(ok)
    thread = threading.Thread(
        target=lambda: found.append(send_traffic(url, rate=50, duration=0.1, poisson=False).summary.good)
    )
    thread.start()
    thread.join(10)
    assert found == [5]


def test_over_tls(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    url = serve(ok, context)
    with pytest.raises(FunctionError, match="certificate is not trusted: self-signed certificate"):
        send_traffic(url, rate=10, duration=1)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    done = send_traffic(url, rate=100, duration=0.2, poisson=False, connections=4)
    assert done.summary.good == 20, done.summary


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(
        FunctionError, match=f"nothing listens at 127.0.0.1:{port}: .*refused.* coldpress serve DIR"
    ):
        send_traffic(f"http://127.0.0.1:{port}/", rate=10, duration=1)


def test_a_server_that_goes_away(serve: Serve) -> None:
    """Refused in mid-run is a result, not an end."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def once() -> None:
        peer, _ = listener.accept()
        listener.close()
        peer.recv(4096)
        peer.close()

    thread = threading.Thread(target=once)
    thread.start()
    done = send_traffic(f"http://127.0.0.1:{port}/", rate=50, duration=0.2, poisson=False)
    thread.join()
    assert done.rows.kinds == {Kind.CONNECTION: 10}
    assert done.summary.problems["Connection refused"] == 9


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("localhost:9000", "begins with http://"),
        ("ftp://localhost/", "begins with http://"),
        ("http:///x", "needs a host"),
        ("http://a:99999/", "Port out of range"),
        ("http://user:secret@a/", "needs a host, a port above 0, and no user"),
        ("http://a/ b", "blanks"),
        ("http://a/ä", "%XX"),
        ("http://[::1/", "is not right: Invalid IPv6"),
    ],
)
def test_wrong_addresses(url: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        send_traffic(url, rate=1, duration=1)


def test_wrong_headers() -> None:
    for header in ("X-Own", "X-Own: a\r\nB: c", "Content-Length: 3", "a b: c"):
        with pytest.raises(UsageError, match="header"):
            send_traffic("http://127.0.0.1:1/", rate=1, duration=1, headers=(header,))
