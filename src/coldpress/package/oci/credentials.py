"""Who we are at a registry: as docker, podman and their helpers have it."""

import base64
import binascii
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coldpress.errors import ColdpressError

_HELPER = re.compile(r"[A-Za-z0-9_-]+")
_SECONDS = 60
#: what a helper answers instead of a name when its secret is an identity token
_TOKEN = "<token>"  # noqa: S105


@dataclass(frozen=True)
class Credentials:
    name: str = ""
    password: str = field(default="", repr=False)
    #: exchanged for access tokens, instead of a password
    identity: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        return "Basic " + base64.b64encode(f"{self.name}:{self.password}".encode()).decode()


def find_credentials(registry: str) -> Credentials | None:
    """Those for `registry`, of the first file that has any; None for a stranger."""
    for path in _files():
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise ColdpressError(f"{path} cannot be read: {type(error).__name__}; log in again") from None
        found = _of(config if isinstance(config, dict) else {}, registry, path)
        if found:
            return found
    return None


def _files() -> Iterator[Path]:
    if named := os.environ.get("REGISTRY_AUTH_FILE"):
        yield Path(named)
    yield Path(os.environ.get("DOCKER_CONFIG") or Path("~/.docker").expanduser()) / "config.json"
    yield Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "containers" / "auth.json"


def _of(config: dict[str, Any], registry: str, path: Path) -> Credentials | None:
    names = _names(registry)
    helpers = config.get("credHelpers") or {}
    for name in names:
        if name in helpers:
            return _ask(str(helpers[name]), name)
    auths = config.get("auths") or {}
    for name in names:
        entry = auths.get(name) or {}
        if entry.get("identitytoken"):
            return Credentials(identity=str(entry["identitytoken"]))
        if entry.get("auth"):
            return _decoded(str(entry["auth"]), name, path)
        if entry.get("username"):
            return Credentials(str(entry["username"]), str(entry.get("password", "")))
    if config.get("credsStore"):
        for name in names:
            if found := _ask(str(config["credsStore"]), name):
                return found
    return None


def _names(registry: str) -> list[str]:
    """Docker's own registry is filed under an address of its first version."""
    own = ["https://index.docker.io/v1/", "index.docker.io"] if registry == "docker.io" else []
    return [*own, registry, f"https://{registry}", f"https://{registry}/v2/"]


def _decoded(text: str, name: str, path: Path) -> Credentials:
    try:
        user, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise ColdpressError(f"what {path} holds for {name} is no name and password; log in again")
    return Credentials(user, password.rstrip("\0"))


def _ask(helper: str, registry: str) -> Credentials | None:
    """A helper program prints a name and a secret; one that knows none says so and fails."""
    if not _HELPER.fullmatch(helper):
        raise ColdpressError(f"the credential helper {helper!r} is no program's name")
    program = f"docker-credential-{helper}"
    try:
        done = subprocess.run(
            [program, "get"], input=registry, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        raise ColdpressError(
            f"{program}, which the configuration names for {registry}, is not installed"
        ) from None
    except subprocess.TimeoutExpired:
        raise ColdpressError(f"{program} did not answer for {registry} within {_SECONDS} seconds") from None
    if done.returncode:
        if "credentials not found" in done.stdout + done.stderr:
            return None
        raise ColdpressError(f"{program} failed for {registry} (exit code {done.returncode})")
    try:
        said = json.loads(done.stdout)
        name, secret = str(said["Username"]), str(said["Secret"])
    except (ValueError, KeyError, TypeError):
        raise ColdpressError(f"{program} did not answer with a name and a secret for {registry}") from None
    return Credentials(identity=secret) if name == _TOKEN else Credentials(name, secret)
