"""A client of Lambda's Runtime API: one keep-alive connection over a plain socket.

`http.client` would cost 25 ms of a cold start (email, ssl, re); the Runtime API speaks so little
HTTP that reading a head and a body by hand is shorter than working around it.
"""

from _socket import AF_INET, IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, socket

from coldpress_runtime.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: of errors that say nothing themselves
FAILED = "the function failed; its log says more"
_PREFIX = "/2018-06-01/runtime"
_CHUNK = 65536
_ERROR_TYPE = "Lambda-Runtime-Function-Error-Type"
_ERROR_BODY = "Lambda-Runtime-Function-Error-Body"


class Lost(Exception):
    """The Runtime API closed the connection or spoke something that is not HTTP."""


def kind_of(trouble: BaseException) -> str:
    """What Lambda calls an error."""
    return f"Runtime.{type(trouble).__name__}"


def _error(kind: str, message: str) -> bytes:
    # No stack trace: it goes to the log, never to the caller.
    return dumps({"errorMessage": message or FAILED, "errorType": kind, "stackTrace": []}).encode()


class Invocation:
    __slots__ = ("body", "headers", "request_id")

    def __init__(self, headers: dict[str, str], body: bytes) -> None:
        self.headers = headers
        self.request_id = headers["lambda-runtime-aws-request-id"]
        self.body = body

    def take(self) -> bytes:
        """The body, which is then the caller's alone."""
        body, self.body = self.body, b""
        return body


class RuntimeApi:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._host = host or address
        self._port = int(port) if host else 80
        self._head = f" HTTP/1.1\r\nHost: {address}\r\nUser-Agent: coldpress\r\n"
        self._socket: socket | None = None
        self._unread = b""
        #: requests that ended in an error of the function's
        self.failures = 0

    def next(self) -> Invocation:
        """Wait for the next invocation. Waits for ever: a sandbox is frozen between requests."""
        status, headers, body = self._exchange("GET", "/invocation/next", b"", "")
        if status != 200:
            raise Lost(f"/invocation/next answered {status}: {body[:200]!r}")
        return Invocation(headers, body)

    def restored(self) -> int:
        """Wait until a snapshot of this process is restored."""
        return self._exchange("GET", "/restore/next", b"", "")[0]

    def respond(self, request_id: str, answer: bytes) -> int:
        return self._post(f"/invocation/{request_id}/response", answer, "")

    def stream(self, request_id: str, content_type: str, pieces: "Iterable[bytes]") -> int:
        """Answer piece by piece, each sent as it is made. An error that ends them early is told in trailers."""
        self._send(
            f"POST {_PREFIX}/invocation/{request_id}/response{self._head}Content-Type: {content_type}\r\n"
            f"Lambda-Runtime-Function-Response-Mode: streaming\r\nTransfer-Encoding: chunked\r\n"
            f"Trailer: {_ERROR_TYPE}, {_ERROR_BODY}\r\n\r\n".encode()
        )
        trailers = b""
        try:
            for piece in pieces:
                if piece:  # a chunk of nothing would be the end
                    self._send(b"%x\r\n%b\r\n" % (len(piece), piece))
        except Lost:
            raise
        except Exception as error:
            from binascii import b2a_base64

            self.failures += 1
            kind = kind_of(error)
            body = b2a_base64(_error(kind, str(error)), newline=False).decode()
            trailers = f"{_ERROR_TYPE}: {kind}\r\n{_ERROR_BODY}: {body}\r\n".encode()
        self._send(b"0\r\n" + trailers + b"\r\n")
        return self._read()[0]

    def fail(self, request_id: str, kind: str, message: str) -> int:
        self.failures += 1
        return self._report(f"/invocation/{request_id}/error", kind, message)

    def fail_init(self, kind: str, message: str) -> int:
        return self._report("/init/error", kind, message)

    def _report(self, path: str, kind: str, message: str) -> int:
        return self._post(path, _error(kind, message), f"{_ERROR_TYPE}: {kind}\r\n")

    def _post(self, path: str, body: bytes, extra: str) -> int:
        return self._exchange("POST", path, body, f"Content-Type: application/json\r\n{extra}")[0]

    def _exchange(self, method: str, path: str, body: bytes, extra: str) -> tuple[int, dict[str, str], bytes]:
        length = f"Content-Length: {len(body)}\r\n" if method == "POST" else ""
        head = f"{method} {_PREFIX}{path}{self._head}{extra}{length}\r\n".encode()
        if len(body) < _CHUNK:
            self._send(head + body)
        else:  # one more packet costs less than a copy of megabytes
            self._send(head)
            self._send(body)
        return self._read()

    def _send(self, data: bytes) -> None:
        if self._socket is None:
            self._socket = socket(AF_INET, SOCK_STREAM)
            self._socket.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            self._socket.connect((self._host, self._port))
            self._unread = b""
        try:
            self._socket.sendall(data)
        except OSError as error:
            self.close()
            raise Lost(f"the Runtime API takes no more: {error}") from None

    def _read(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = self._read_head()
        while status == 100:
            status, headers = self._read_head()
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = self._read_chunked()
        else:
            body = self._take(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return status, headers, body

    def _read_head(self) -> tuple[int, dict[str, str]]:
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, _, rest = lines[0].partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
            raise Lost(f"the Runtime API answered {lines[0][:100]!r}, which is not HTTP/1.1")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(rest[:3]), headers

    def _read_chunked(self) -> bytes:
        parts = []
        while size := int(self._until(b"\r\n").partition(b";")[0], 16):
            parts.append(self._take(size))
            self._until(b"\r\n")
        while self._until(b"\r\n"):  # trailers
            pass
        return b"".join(parts)

    def _until(self, mark: bytes) -> bytes:
        while (at := self._unread.find(mark)) < 0:
            self._unread += self._receive()
        found, self._unread = self._unread[:at], self._unread[at + len(mark) :]
        return found

    def _take(self, size: int) -> bytes:
        parts, have = [self._unread], len(self._unread)
        while have < size:
            parts.append(self._receive())
            have += len(parts[-1])
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self._unread = data[size:]
        return data[:size]

    def _receive(self) -> bytes:
        assert self._socket is not None
        data = self._socket.recv(_CHUNK)
        if not data:
            self.close()
            raise Lost("the Runtime API closed the connection")
        return data

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
