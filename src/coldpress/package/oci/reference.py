"""Names of images, as people write them: registry/repository:tag@digest."""

import re
from dataclasses import dataclass, replace

from coldpress.errors import UsageError

_HOST = re.compile(r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 255
#: Docker's own registry answers under another name than people call it by
_HUB, _HUB_HOST = "docker.io", "registry-1.docker.io"
_LOOPBACK = re.compile(r"(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?")


@dataclass(frozen=True)
class Reference:
    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """`text` must name its registry: what a short name means depends on the machine that reads it."""
        rest, at, digest = text.partition("@")
        registry, slash, path = rest.partition("/")
        repository, colon, tag = path.partition(":")
        named = "." in registry or ":" in registry or registry == "localhost"
        if not slash or not named or not _HOST.fullmatch(registry):
            raise UsageError(
                f"{text!r} names no registry: write it out, as {_HUB}/library/python:3.13 or localhost:5000/name"
            )
        wrong = (
            not _REPOSITORY.fullmatch(repository)
            or len(repository) > _LONGEST
            or (colon and not _TAG.fullmatch(tag))
            or (at and not DIGEST.fullmatch(digest))
        )
        if wrong:
            raise UsageError(f"{text!r} is no image's name: registry/lower-case/path:tag, or …@sha256:<64 digits>")
        if registry == _HUB and "/" not in repository:
            repository = f"library/{repository}"
        return cls(registry, repository, tag or None, digest or None)

    @property
    def host(self) -> str:
        """Where it answers."""
        return _HUB_HOST if self.registry == _HUB else self.registry

    @property
    def address(self) -> str:
        return f"{'http' if is_loopback(self.host) else 'https'}://{self.host}"

    @property
    def asked(self) -> str:
        """What a manifest is asked for by: the digest, which cannot change, before the tag."""
        return self.digest or self.tag or "latest"

    def at(self, digest: str) -> "Reference":
        return replace(self, tag=None, digest=digest)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.registry}/{self.repository}{tag}{f'@{self.digest}' if self.digest else ''}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, which alone may be spoken to without encryption."""
    return _LOOPBACK.fullmatch(host) is not None
