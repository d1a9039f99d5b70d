"""Where traffic goes, and the bytes of a request: made once, sent many times."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from coldpress.errors import UsageError
from coldpress.version import __version__

_INVOKE = re.compile(r"/2015-03-31/functions/[^/]+/invocations")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~\w-]+):[ \t]*([\x20-\x7e\t]*)", re.ASCII)


@dataclass(frozen=True)
class Address:
    url: str
    host: str
    port: int
    tls: bool
    #: path and query
    target: str

    @property
    def place(self) -> str:
        """Host and port as a URL has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def invokes(self) -> bool:
        """Whether this is Lambda's Invoke API, which tells of a cold start in the log that it sends back."""
        return _INVOKE.fullmatch(self.target.partition("?")[0]) is not None

    @property
    def here(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def read_url(url: str) -> Address:
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"the URL {url!r} holds blanks or characters that a URL has only as %XX")
    if not url.lower().startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not a URL to send to: it begins with http:// or https://")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"the URL {url!r} is not right: {error}") from None
    if not host or parts.username is not None or port == 0:
        raise UsageError(f"the URL {url!r} needs a host, a port above 0, and no user: http://127.0.0.1:9000/")
    tls = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(url, host, port or (443 if tls else 80), tls, target)


def head(address: Address, kind: str, headers: tuple[str, ...]) -> bytes:
    """All of a request but the length of its body and the body. `headers` are a person's own, as NAME: VALUE."""
    fields = {
        "Host": address.place.removesuffix(":443" if address.tls else ":80"),
        "User-Agent": f"coldpress/{__version__}",
        "Accept": "*/*",
        "Content-Type": kind,
    }
    if address.invokes:
        fields["X-Amz-Log-Type"] = "Tail"
    for header in headers:
        found = _HEADER.fullmatch(header)
        if found is None:
            raise UsageError(f"{header!r} is not a header: write NAME: VALUE, in ASCII")
        if found[1].lower() in ("content-length", "transfer-encoding", "connection"):
            raise UsageError(f"the header {found[1]} is set by the sender itself")
        same = [name for name in fields if name.lower() == found[1].lower()]
        fields[same[0] if same else found[1]] = found[2]
    lines = [f"POST {address.target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode()


def request(head: bytes, body: bytes) -> bytes:
    return b"%b\r\nContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
