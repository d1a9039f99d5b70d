"""AWS Signature Version 4: who asks, for what, and when, in a header."""

from coldpress_runtime.hashing import hex_of, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_BLOCK = 64
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
#: proxies may change them on the way
_UNSIGNED = frozenset(("expect", "transfer-encoding", "user-agent", "x-amzn-trace-id", "connection"))


class Credentials:
    __slots__ = ("key", "secret", "session")

    def __init__(self, key: str, secret: str, session: str = "") -> None:
        self.key = key
        self.secret = secret
        self.session = session


def quoted(text: str, also: bytes = b"") -> str:
    """Percent-encoded as AWS wants it: all but letters, digits and -_.~"""
    plain = _PLAIN | frozenset(also)
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in text.encode())


def query_string(pairs: "Iterable[tuple[str, str]]") -> str:
    """As it is sent and as it is signed: encoded, and in order."""
    return "&".join(f"{name}={value}" for name, value in sorted((quoted(a), quoted(b)) for a, b in pairs))


def signed(
    credentials: Credentials,
    region: str,
    service: str,
    when: str,
    method: str,
    host: str,
    path: str,
    query: str,
    headers: "Mapping[str, str]",
    body: bytes,
) -> dict[str, str]:
    """The headers to send. `path` and `query` are encoded already; `when` is of the form 20260102T030405Z."""
    content = hex_of(body)
    sent = {**headers, "host": host, "x-amz-date": when}
    if service == "s3":
        sent["x-amz-content-sha256"] = content
    else:
        path = quoted(_without_dots(path), b"/")
    if credentials.session:
        sent["x-amz-security-token"] = credentials.session
    lines = {name.lower(): " ".join(value.split()) for name, value in sent.items()}
    names = sorted(name for name in lines if name not in _UNSIGNED)
    listed = ";".join(names)
    canonical = [method, path or "/", query, *(f"{name}:{lines[name]}" for name in names), "", listed, content]
    scope = f"{when[:8]}/{region}/{service}/aws4_request"
    hashed = sha256("\n".join(canonical).encode()).hexdigest()
    key = b"AWS4" + credentials.secret.encode()
    for part in (when[:8], region, service, "aws4_request"):
        key = _hmac(key, part.encode())
    signature = _hmac(key, f"AWS4-HMAC-SHA256\n{when}\n{scope}\n{hashed}".encode()).hex()
    said = f"Credential={credentials.key}/{scope}, SignedHeaders={listed}, Signature={signature}"
    return {**sent, "authorization": f"AWS4-HMAC-SHA256 {said}"}


def _hmac(key: bytes, message: bytes) -> bytes:
    """The module of that name imports OpenSSL, which takes longer than all of this."""
    key = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + message).digest()
    outer: bytes = sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()
    return outer


def _without_dots(path: str) -> str:
    """Every service but S3 signs a path without . and .. and empty parts."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part and part != ".":
            kept.append(part)
    end = "/" if path.endswith("/") and kept else ""
    return f"/{'/'.join(kept)}{end}"
