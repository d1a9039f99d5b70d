"""SHA-256, without hashlib: that imports OpenSSL, which takes longer than a hash."""

try:
    from _sha2 import sha256 as sha256  # Python 3.12 and later
except ImportError:
    from _sha256 import sha256 as sha256
