"""Code that was put into an S3 first: read from there, where AWS_ENDPOINT_URL_S3 says there is one."""

import hashlib
import os
import re
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, urlsplit

from coldpress.emulate.control import errors
from coldpress.emulate.front.signatures import sign
from coldpress.emulate.sandboxes.invocation import REGION

_ENDPOINT = "AWS_ENDPOINT_URL_S3"
_SAFE = "-_.~"
_EMPTY = hashlib.sha256(b"").hexdigest()
_CODE, _MESSAGE = re.compile(r"<Code>([^<]*)"), re.compile(r"<Message>([^<]*)")
_SECONDS = 60


def fetch(said: dict[str, Any], most: int) -> bytes:
    """The object that a request names, of at most `most` bytes. Takes time: not for the event loop."""
    bucket, key, version = (str(said.get(name) or "") for name in ("S3Bucket", "S3Key", "S3ObjectVersion"))
    endpoint = os.environ.get(_ENDPOINT, "").rstrip("/")
    if not endpoint.startswith(("http://", "https://")):
        raise errors.invalid(
            f"s3://{bucket}/{key}: no S3 is known here; send the zip itself, as ZipFile, "
            f"or start this local Lambda with {_ENDPOINT}=http://… where one is"
        )
    if not bucket or not key:
        raise errors.invalid(f"s3://{bucket}/{key} is no object: S3Bucket and S3Key are both needed")
    path = f"{urlsplit(endpoint).path}/{quote(bucket, safe=_SAFE)}/{quote(key, safe=f'/{_SAFE}')}"
    query = f"versionId={quote(version, safe=_SAFE)}" if version else ""
    scheme, host = urlsplit(endpoint)[:2]
    request = urllib.request.Request(  # noqa: S310 - http or https, by the check above
        f"{scheme}://{host}{path}{f'?{query}' if query else ''}", headers=_signed(host, path, query)
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310 - the same
            data: bytes = response.read(most + 1)
    except urllib.error.HTTPError as error:
        with error:
            told = error.read(65536).decode(errors="replace")
        code, message = _CODE.search(told), _MESSAGE.search(told)
        raise errors.invalid(
            f"Error occurred while GetObject. S3 Error Code: {code[1] if code else error.code}. "
            f"S3 Error Message: {message[1] if message else error.reason} (s3://{bucket}/{key} at {endpoint})"
        ) from None
    except OSError as error:
        raise errors.invalid(f"s3://{bucket}/{key} cannot be read from {endpoint}: {error}") from None
    if len(data) > most:
        raise errors.invalid(f"s3://{bucket}/{key} has more than {most} bytes, the most that a function may have")
    return data


def _signed(host: str, path: str, query: str) -> dict[str, str]:
    """With this shell's keys: an S3 keeps what is private to those who sign."""
    key, secret = (os.environ.get(name, "local") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = {"host": host, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
    if token := os.environ.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = token
    names = ";".join(headers)
    fields = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = "\n".join(["GET", path, query, fields, names, _EMPTY])
    signature = sign(secret, stamp, REGION, "s3", text)
    scope = f"{key}/{stamp[:8]}/{REGION}/s3/aws4_request"
    authorization = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "Authorization": authorization}
