"""The function's own bearer token, known to it only as a SHA-256."""

from _operator import _compare_digest

from coldpress_runtime.faults import BadRequest, LoadError
from coldpress_runtime.hashing import sha256


def check(authorization: str, expected: str) -> None:
    if not is_right(authorization, expected):
        raise refused(authorization)


def is_right(authorization: str, expected: str) -> bool:
    return _compare_digest(digest_of(authorization), expected)


def digest_of(authorization: str) -> str:
    """The SHA-256 of the token that comes with a request; of what is no bearer token, nothing."""
    scheme, _, token = authorization.partition(" ")
    digest = sha256(token.strip().encode(errors="surrogatepass")).hexdigest()
    return digest if scheme.lower() == "bearer" else ""


def refused(authorization: str) -> BadRequest:
    what = "is missing" if not authorization else "does not match"
    return BadRequest(
        401,
        "unauthorized",
        f"the bearer token {what}; send it as 'Authorization: Bearer …'",
        {"www-authenticate": "Bearer"},
    )


def expected_digest(value: str) -> str:
    """The setting, checked: a wrong one must stop the function, not lock everybody out in silence."""
    digest = value.strip().lower()
    if len(digest) != 64 or digest.strip("0123456789abcdef"):
        raise LoadError("COLDPRESS_TOKEN_SHA256 must be the 64 hex digits of a SHA-256")
    return digest
