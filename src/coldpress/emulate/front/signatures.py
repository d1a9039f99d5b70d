"""Checks that a request was signed with the right secret: AWS Signature Version 4."""

import hashlib
import hmac
import time
from calendar import timegm
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote

from coldpress.emulate.wire import Request

_SCHEME = "AWS4-HMAC-SHA256"
#: a signature is good for five minutes, either way
_SKEW = 300


@dataclass(frozen=True)
class Credentials:
    access_key: str
    secret_key: str


class Unsigned(Exception):
    """Who sent a request did not show the right secret; says what is wrong, never what would be right."""


def check_signature(request: Request, credentials: Credentials) -> None:
    """Raises Unsigned unless the request carries a valid signature for the Lambda service."""
    given = request.headers.get("authorization", "")
    scheme, _, rest = given.partition(" ")
    if scheme != _SCHEME:
        raise Unsigned("Missing Authentication Token")
    parts = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    scope = parts.get("Credential", "").split("/")
    names = parts.get("SignedHeaders", "").split(";")
    stamp = request.headers.get("x-amz-date", "")
    if len(scope) != 5 or scope[4] != "aws4_request" or "host" not in names or not parts.get("Signature"):
        raise Unsigned("the Authorization header is incomplete")
    key, day, region, service, _ = scope
    if key != credentials.access_key:
        raise Unsigned("The security token included in the request is invalid.")
    if service != "lambda" or not stamp.startswith(day):
        raise Unsigned("Credential should be scoped to correct service: 'lambda'.")
    _check_time(stamp)
    body_hash = hashlib.sha256(bytes(request.body)).hexdigest()
    if request.headers.get("x-amz-content-sha256", body_hash) not in (body_hash, "UNSIGNED-PAYLOAD"):
        raise Unsigned("The body does not have the hash that was signed.")
    text = canonical(request, names, request.headers.get("x-amz-content-sha256", body_hash))
    wanted = sign(credentials.secret_key, stamp, region, service, text)
    if not hmac.compare_digest(wanted, parts["Signature"]):
        raise Unsigned("The request signature we calculated does not match the signature you provided.")


def canonical(request: Request, names: list[str], body_hash: str) -> str:
    """The one form of a request that both sides sign."""
    path = quote(unquote(request.path), safe="/-_.~")
    query = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(request.query, keep_blank_values=True)
    )
    fields = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in names)
    pairs = "&".join(f"{name}={value}" for name, value in query)
    # Every service but S3 encodes the path twice.
    return "\n".join([request.method, quote(path, safe="/-_.~"), pairs, fields, ";".join(names), body_hash])


def sign(secret: str, stamp: str, region: str, service: str, text: str) -> str:
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    to_sign = "\n".join([_SCHEME, stamp, scope, hashlib.sha256(text.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (stamp[:8], region, service, "aws4_request", to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def _check_time(stamp: str) -> None:
    try:
        at = timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        raise Unsigned(f"X-Amz-Date is {stamp[:32]!r}, which is no time like 20260131T235959Z") from None
    if abs(time.time() - at) > _SKEW:
        raise Unsigned(f"Signature expired: {stamp} is not within {_SKEW // 60} minutes of now")
