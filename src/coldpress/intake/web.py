"""A model by its address: https only, from hosts that are allowed, looked at again after every redirect."""

import os
import ssl
import urllib.error
import urllib.request
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from coldpress.errors import IntakeError, ModelNotFound, UsageError

#: where models are kept, and where such places send one on to; COLDPRESS_HOSTS adds others
HOSTS = (
    *("huggingface.co", "*.huggingface.co", "*.hf.co"),
    *("github.com", "*.githubusercontent.com", "download.pytorch.org"),
)
MOST_BYTES = 20_000_000_000
TIMEOUT = 60
_BLOCK = 1 << 20


def is_address(text: str) -> bool:
    return "://" in text


def check_address(url: str) -> None:
    """Refuse an address that is not https, has a name or a port in it, or is of a host that nobody allowed."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise UsageError(f"{url} is not https: what comes another way can be changed on the way")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address {parts.hostname} has a name or a password in it; leave them out")
    hosts = (*HOSTS, *os.environ.get("COLDPRESS_HOSTS", "").split())
    if not any(fnmatch(parts.netloc.lower(), host) for host in hosts):
        raise UsageError(
            f"{parts.netloc or url} is not among the hosts that models are fetched from ({', '.join(hosts)}): "
            "COLDPRESS_HOSTS adds some, or fetch the file yourself and give its path"
        )


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows where every step is as allowed as the first."""

    max_redirections = 5

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, folder: Path, context: ssl.SSLContext | None = None) -> Path:
    """The file at `url`, in `folder`, under its own name."""
    check_address(url)
    name = Path(unquote(urlsplit(url).path)).name
    if not name or name.startswith("."):
        raise UsageError(f"{url} names no file")
    # No proxy, no cookies, no other schemes than these two: an opener as small as it can be.
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.HTTPSHandler(context=context or ssl.create_default_context()))
    opener.add_handler(_Redirects())
    opener.add_handler(urllib.request.HTTPErrorProcessor())
    opener.add_handler(urllib.request.HTTPDefaultErrorHandler())
    target = folder / name
    try:
        with opener.open(url, timeout=TIMEOUT) as answer, target.open("xb") as file:
            _copy(url, answer, file)
    except urllib.error.HTTPError as error:
        raise ModelNotFound(f"{url} answers {error.code} {error.reason}") from None
    except OSError as error:
        raise ModelNotFound(f"{url} could not be fetched: {error}") from None
    return target


def _copy(url: str, answer: Any, file: Any) -> None:
    promised = answer.headers.get("content-length")
    if promised is not None and int(promised) > MOST_BYTES:
        raise IntakeError(f"{url} has {promised} bytes; the limit is {MOST_BYTES}")
    size = 0
    while block := answer.read(_BLOCK):
        size += len(block)
        if size > MOST_BYTES:  # whatever was promised
            raise IntakeError(f"{url} has more than {MOST_BYTES} bytes, the limit")
        file.write(block)
    if promised is not None and size != int(promised):
        raise ModelNotFound(f"{url} ended after {size} of {promised} bytes: try again")
