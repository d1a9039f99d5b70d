"""One registry's HTTP: who we are, what to try again, where it may send us. Secrets stay out of every message."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import IO
from urllib.parse import urljoin, urlsplit

import urllib3

from coldpress.errors import RegistryError
from coldpress.package.oci.credentials import Credentials
from coldpress.package.oci.login import Login, check_encrypted, in_short
from coldpress.package.oci.reference import Reference
from coldpress.version import __version__

TRIES = 5
#: seconds for which a registry may say nothing
PATIENCE = 60.0
_LONGEST_WAIT = 60.0
_BUSY = (408, 429, 500, 502, 503, 504)
_MOST_REDIRECTS = 5

Answer = urllib3.BaseHTTPResponse


@dataclass(frozen=True)
class Body:
    """What is sent: bytes, or a file from its beginning, which may have to be sent twice."""

    data: bytes | Path
    kind: str = "application/octet-stream"

    @property
    def size(self) -> int:
        return self.data.stat().st_size if isinstance(self.data, Path) else len(self.data)

    @contextlib.contextmanager
    def opened(self) -> Iterator[bytes | IO[bytes]]:
        if isinstance(self.data, bytes):
            yield self.data
            return
        with self.data.open("rb") as file:
            yield file


class Wire:
    """A connection to the registry of `reference`, for its repository. `pause` waits, and tests do not."""

    def __init__(
        self,
        reference: Reference,
        actions: str = "pull",
        pause: Callable[[float], None] = sleep,
        credentials: Credentials | None = None,
    ) -> None:
        self.reference = reference
        self._pause = pause
        self._authorization: str | None = None
        self._pool = urllib3.PoolManager(
            retries=False,
            timeout=urllib3.Timeout(connect=20, read=PATIENCE),
            headers={"user-agent": f"coldpress/{__version__}"},
            blocksize=1 << 20,
        )
        self._login = Login(reference, self._pool, actions, credentials)
        self.sent = 0

    def also_pull(self, repository: str) -> None:
        """Ask for the right to read another repository too, so that its blobs can be mounted."""
        self._login.scopes.append(f"repository:{repository}:pull")
        self._authorization = None

    def url(self, path: str) -> str:
        return f"{self.reference.address}/v2/{self.reference.repository}/{path}"

    def call(
        self,
        method: str,
        url: str,
        *,
        good: tuple[int, ...] = (200,),
        headers: dict[str, str] | None = None,
        body: Body | None = None,
        stream: bool = False,
        tries: int = TRIES,
    ) -> Answer:
        """Send, and send again while the registry is busy; an answer that is not `good` is an error."""
        problem, wait = "", 0.0
        for attempt in range(1, tries + 1):
            self._pause(min(_LONGEST_WAIT, wait))
            wait = 0.5 * 2**attempt
            try:
                answer = self._authorized(method, url, headers or {}, body, stream)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                problem = in_short(error)
                continue
            if answer.status in good:
                return answer
            problem = _said(answer)
            if answer.status not in _BUSY:
                raise RegistryError(f"{self._place(method, url)} answers {problem}", answer.status)
            said = answer.headers.get("retry-after", "")
            wait = float(said) if said.isdecimal() else wait
        raise RegistryError(f"{self._place(method, url)} failed {tries} times: {problem}; try again later")

    def _authorized(
        self, method: str, url: str, headers: dict[str, str], body: Body | None, stream: bool
    ) -> Answer:
        """A token that has run out is made anew, once."""
        answer = self._follow(method, url, headers, body, stream)
        if answer.status != 401 or not self._same_host(url):
            return answer
        answer.drain_conn()
        self._authorization = self._login.authorization(answer.headers.get("www-authenticate", ""))
        return self._follow(method, url, headers, body, stream)

    def _follow(self, method: str, url: str, headers: dict[str, str], body: Body | None, stream: bool) -> Answer:
        for _ in range(_MOST_REDIRECTS):
            own = {"authorization": self._authorization} if self._authorization and self._same_host(url) else {}
            answer = self._send(method, url, headers | own, body, stream)
            place = answer.headers.get("location")
            if answer.status not in (301, 302, 303, 307, 308) or not place:
                return answer
            answer.drain_conn()
            url = urljoin(url, place)
            check_encrypted(url, self.reference)
        raise RegistryError(f"{self.reference.registry} redirects more than {_MOST_REDIRECTS} times")

    def _send(self, method: str, url: str, headers: dict[str, str], body: Body | None, stream: bool) -> Answer:
        if body is None:
            return self._pool.request(method, url, headers=headers, redirect=False, preload_content=not stream)
        headers = {"content-type": body.kind, "content-length": str(body.size)} | headers
        with body.opened() as data:
            answer = self._pool.request(method, url, headers=headers, body=data, redirect=False)
        self.sent += body.size
        return answer

    def _same_host(self, url: str) -> bool:
        return urlsplit(url).netloc == urlsplit(self.reference.address).netloc

    def _place(self, method: str, url: str) -> str:
        parts = urlsplit(url)
        return f"{parts.netloc}: {method} {parts.path}"


def _said(answer: Answer) -> str:
    """The status, and the registry's own words if it has any."""
    try:
        errors = json.loads(answer.data or b"{}").get("errors") or [{}]
        words = f" {errors[0].get('code', '')} {errors[0].get('message', '')}".rstrip()
    except (ValueError, AttributeError, TypeError, IndexError, KeyError, urllib3.exceptions.HTTPError):
        words = ""
    return f"{answer.status}{words[:200]}"
