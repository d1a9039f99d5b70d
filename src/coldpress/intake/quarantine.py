"""Code of somebody else's runs in a process of its own, which has none of our secrets in its environment."""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from coldpress import cache
from coldpress.errors import ColdpressError

_MARK = "COLDPRESS_QUARANTINE"
#: variables whose names hold one of these stay outside
_SECRET = ("AWS_", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "API_KEY", "SSH_", "GPG_", "NETRC")
_RUN = """import pickle, sys
with open(sys.argv[1], "rb") as file:
    arguments = pickle.load(file)
from coldpress import cache
from coldpress.errors import ColdpressError
from coldpress import build
try:
    build(**arguments)
except ColdpressError as error:
    sys.stderr.write(f"\\n{type(error).__name__}: {error}")
    sys.exit(3)
"""


def inside() -> bool:
    return _MARK in os.environ


def build_inside(arguments: dict[str, Any]) -> None:
    """`coldpress.build` with these arguments in a process without credentials; a folder is all that it makes."""
    environment = {
        name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SECRET)
    }
    with tempfile.TemporaryDirectory(prefix="coldpress-quarantine-") as folder:
        # A home of its own: tools look for credentials there.
        environment |= {_MARK: "1", "HOME": folder, "COLDPRESS_CACHE": str(cache.root()), "HF_HUB_CACHE": _hub()}
        # Our own arguments, from us to us; nothing from outside is ever in this file.
        path = Path(folder) / "arguments"
        path.write_bytes(pickle.dumps(arguments))
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(path)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise _error(done.stderr.strip())


def _hub() -> str:
    """What was fetched from the hub already, without the token that lies above it."""
    home = os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser()
    return os.environ.get("HF_HUB_CACHE") or str(Path(home) / "hub")


def _error(text: str) -> ColdpressError:
    from coldpress import errors

    kind, colon, message = (text.splitlines() or [""])[-1].partition(": ")
    known = getattr(errors, kind, None)
    if colon and isinstance(known, type) and issubclass(known, ColdpressError) and kind != "MissingExtra":
        return known(message)
    return ColdpressError(f"the build in a process of its own failed: {text[-500:] or 'it said nothing'}")
