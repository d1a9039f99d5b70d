"""AWS's bulk price lists over HTTP, as a stream. They are public: no account, no key."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import urllib3

from coldpress.errors import PriceListError
from coldpress.version import __version__

AWS = "https://pricing.us-east-1.amazonaws.com"
_PATH = "offers/v1.0/aws/{service}/current/{region}/index.csv"
_CHUNK = 1 << 16

#: service, bytes that came, bytes in all where it is known
Told = Callable[[str, int, int | None], None]


@contextmanager
def download(host: str, service: str, region: str, told: Told) -> Iterator[Iterator[bytes]]:
    """The list's bytes. One that breaks off is an error, not a short list."""
    if not host.startswith(("http://", "https://")):
        raise PriceListError(f"{host!r} is no address of a price list; it begins with http:// or https://")
    url = f"{host.rstrip('/')}/{_PATH.format(service=service, region=region)}"
    with urllib3.PoolManager(
        retries=urllib3.Retry(total=3, backoff_factor=0.1),
        timeout=urllib3.Timeout(connect=20, read=60),
        headers={"user-agent": f"coldpress/{__version__}", "accept-encoding": "gzip"},
    ) as pool:
        try:
            answer = pool.request("GET", url, preload_content=False)
        except urllib3.exceptions.MaxRetryError as error:
            raise PriceListError(
                f"{url} cannot be reached: {error.reason}; the prices stay as they were"
            ) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise PriceListError(f"{url} cannot be reached: {error}; the prices stay as they were") from None
        try:
            if answer.status != 200:
                # AWS answers 403 for what is not there
                raise PriceListError(
                    f"{url} answers {answer.status} {answer.reason or ''}".rstrip()
                    + f"; is there a region {region!r}? The prices stay as they were"
                )
            assert isinstance(answer, urllib3.HTTPResponse)
            yield _chunks(answer, url, service, told)
        finally:
            answer.close()


def _chunks(answer: urllib3.HTTPResponse, url: str, service: str, told: Told) -> Iterator[bytes]:
    length = answer.headers.get("content-length", "")
    total = int(length) if length.isdecimal() else None
    try:
        for chunk in answer.stream(_CHUNK, decode_content=True):
            told(service, answer.tell(), total)
            yield chunk
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise PriceListError(
            f"{url} broke off after {answer.tell():,} bytes: {error}; the prices stay as they were, try again"
        ) from None
