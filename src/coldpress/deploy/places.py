"""Places in S3, as people name them: s3://bucket/prefix."""

import re
from dataclasses import dataclass

from coldpress.errors import UsageError

#: a bucket's name
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: what a policy would read as something else: any letters, a variable
_MEANS = re.compile(r"[*?]|\$\{")
#: bytes; S3 takes 1,024 as a key, and the object's own part comes after it
_LONGEST_PREFIX = 512


@dataclass(frozen=True)
class Place:
    bucket: str
    #: without a slash at either end
    prefix: str = ""

    @classmethod
    def parse(cls, flag: str, text: str) -> "Place":
        bucket, _, rest = text.removeprefix("s3://").partition("/")
        prefix = rest.strip("/")
        if not text.startswith("s3://") or not BUCKET.fullmatch(bucket):
            raise UsageError(
                f"{flag} {text!r}: {bucket!r} is not a bucket's name: 3 to 63 small letters, digits, dots and "
                f"hyphens, as in s3://bucket/prefix"
            )
        means = _MEANS.search(prefix)
        if means:
            raise UsageError(
                f"{flag} {text!r}: {means[0]!r} in a prefix would mean more than itself in the role's policy: "
                f"take another prefix"
            )
        if not prefix.isprintable() or len(prefix.encode()) > _LONGEST_PREFIX:
            raise UsageError(
                f"{flag}: a prefix is printable text of {_LONGEST_PREFIX} bytes at most, not {prefix[:60]!r} with "
                f"{len(prefix):,} letters"
            )
        return cls(bucket, prefix)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def below(self) -> str:
        """How keys there begin."""
        return f"{self.prefix}/" if self.prefix else ""

    @property
    def objects(self) -> str:
        """All of them, as an ARN ends."""
        return f"{self.bucket}/{self.below}*"

    def holds(self, other: "Place") -> bool:
        """Whether what lies in the other lies here too."""
        return self.bucket == other.bucket and other.below.startswith(self.below)
