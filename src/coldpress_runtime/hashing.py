"""SHA-256, without hashlib: that imports OpenSSL, which takes longer than a small hash."""

try:
    from _sha2 import sha256 as sha256  # Python 3.12 and later
except ImportError:
    from _sha256 import sha256 as sha256

#: bytes; from here on OpenSSL's is worth its import, being several times as fast
_LARGE = 1 << 18


def hex_of(data: bytes) -> str:
    """The hash of something that may be large."""
    if len(data) < _LARGE:
        digest: str = sha256(data).hexdigest()
        return digest
    from hashlib import sha256 as fast

    return fast(data).hexdigest()
