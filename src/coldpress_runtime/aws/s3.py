"""Objects in buckets: put, got, in parts."""

from coldpress_runtime.aws.client import AwsError, Client
from coldpress_runtime.aws.signing import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Bucket:
    def __init__(self, name: str) -> None:
        self.name = name
        client = Client("s3")
        # A name with dots in it is no host that a certificate covers, and a stand-in has one host for all.
        self._below = f"/{name}"
        if not client.is_elsewhere and "." not in name:
            client = Client("s3", f"{name}.s3.{client.region}.amazonaws.com")
            self._below = ""
        self._client = client

    def put(self, key: str, data: bytes, kind: str = "application/json") -> None:
        self._client.call("PUT", self._path(key), headers={"content-type": kind}, body=data)

    def get(self, key: str) -> bytes:
        return self._client.call("GET", self._path(key)).body

    def get_part(self, key: str, first: int, size: int, tag: str) -> bytes:
        """`size` bytes from `first` on, of the very object that `tag` names: not of one that came meanwhile."""
        headers = {"range": f"bytes={first}-{first + size - 1}", "if-match": tag}
        return self._client.call("GET", self._path(key), headers=headers, good=(206,)).body

    def look(self, key: str) -> tuple[int, str] | None:
        """Its size and its tag; None where there is none."""
        try:
            found = self._client.call("HEAD", self._path(key))
        except AwsError as error:
            if error.status == 404:
                return None
            raise
        return int(found.headers.get("content-length", "0")), found.headers.get("etag", "")

    def close(self) -> None:
        self._client.close()

    def _path(self, key: str) -> str:
        return f"{self._below}/{quoted(key, b'/')}"


def parts(size: int, each: int) -> "Iterator[tuple[int, int]]":
    """Where each part begins, and how long it is."""
    for first in range(0, size, each):
        yield first, min(each, size - first)
