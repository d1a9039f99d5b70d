"""One AWS service: signed, kept open, asked again where that helps."""

from time import gmtime, sleep, strftime

from coldpress_runtime.aws.signing import Credentials, query_string, signed
from coldpress_runtime.faults import Fault, LoadError
from coldpress_runtime.settings import TRACE, variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from http.client import HTTPConnection

_TRIES = 5
#: seconds before the second try; then twice as long each time
_PAUSE = 0.1
_TIMEOUT = 20.0
_BUSY = (429, 500, 502, 503, 504)
#: AWS's words for "ask again", in an answer that is otherwise a refusal
_AGAIN = (b"Throttl", b"SlowDown", b"RequestTimeout", b"ServiceUnavailable", b"InternalError")


class AwsError(Fault):
    """`status` is 0 where there was no answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Answer:
    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: "dict[str, str]", body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class Client:
    """A service at its address: AWS's own, or what AWS_ENDPOINT_URL_<SERVICE> or AWS_ENDPOINT_URL names."""

    def __init__(self, service: str, host: str = "") -> None:
        self.service = service
        self.region = variable("AWS_REGION") or variable("AWS_DEFAULT_REGION") or "us-east-1"
        named = variable(f"AWS_ENDPOINT_URL_{service.upper()}") or variable("AWS_ENDPOINT_URL")
        #: whether somebody stands in for AWS, where hosts have no names of their own
        self.is_elsewhere = bool(named)
        scheme, _, place = named.rstrip("/").rpartition("://") if named else ("https", "", host)
        self._is_plain = scheme == "http"
        self.host = place or f"{service}.{self.region}.amazonaws.com"
        self._connection: HTTPConnection | None = None

    def call(
        self,
        method: str,
        path: str,
        query: "Iterable[tuple[str, str]]" = (),
        headers: "Mapping[str, str] | None" = None,
        body: bytes = b"",
        good: tuple[int, ...] = (200,),
    ) -> Answer:
        """One request; one that is not `good` in the end is an error that says what was asked for."""
        asked, pause, problem, status = query_string(query), _PAUSE, "", 0
        for attempt in range(_TRIES):
            if attempt:
                sleep(pause)
                pause *= 2
            try:
                answer = self._send(method, path, asked, headers or {}, body)
            except OSError as error:  # also what http.client raises of its own, see _send
                self.close()
                problem, status = f"{type(error).__name__}: {error}", 0
                continue
            if answer.status in good:
                return answer
            problem, status = f"{answer.status} {_said(answer.body)}", answer.status
            if answer.status not in _BUSY and not any(word in answer.body for word in _AGAIN):
                break
        raise AwsError(f"{self.service} {method} {self.host}{path} failed: {problem}", status)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, query: str, headers: "Mapping[str, str]", body: bytes) -> Answer:
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        if self._connection is None:
            kind = HTTPConnection if self._is_plain else HTTPSConnection
            self._connection = kind(self.host, timeout=_TIMEOUT)
        # Signed at each try: a signature is good for five minutes, and pauses add up.
        when = strftime("%Y%m%dT%H%M%SZ", gmtime())
        sent = signed(
            _credentials(), self.region, self.service, when, method, self.host, path, query, headers, body
        )
        if trace_id := variable(TRACE):
            sent["x-amzn-trace-id"] = trace_id
        try:
            self._connection.request(method, f"{path}?{query}" if query else path, body or None, sent)
            response = self._connection.getresponse()
            data = response.read()
        except HTTPException as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from None
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, data)


def _credentials() -> Credentials:
    key, secret = variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        raise LoadError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set: the function needs a role")
    return Credentials(key, secret, variable("AWS_SESSION_TOKEN"))


def _said(body: bytes) -> str:
    """The beginning of what AWS says, on one line."""
    return " ".join(body[:400].decode(errors="replace").split())
