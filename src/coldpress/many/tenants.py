"""Who may use which models: a file that a person writes, read and checked.

{"header": "x-tenant", "tenants": {"acme": {"models": ["a", "b"]}}}
{"tenants": {"acme": {"models": ["a"], "token_sha256": "…"}}}
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coldpress.errors import UsageError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_HEADER = re.compile(r"[a-z0-9-]{1,64}")
_FORM = 'it must be {"tenants": {NAME: {"models": [NAME, …]}}}, with a "header" or a "token_sha256" for each'


def read_tenants(path: Path, models: Iterable[str]) -> dict[str, Any]:
    """As the function's index has it."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"--tenants {path} cannot be read: {error}") from None
    try:
        return _checked(said, set(models))
    except UsageError as error:
        raise UsageError(f"--tenants {path}: {error}") from None


def _checked(said: Any, models: set[str]) -> dict[str, Any]:
    tenants = said.get("tenants") if isinstance(said, dict) else None
    if not isinstance(tenants, dict) or not tenants:
        raise UsageError(_FORM)
    _only(said, "header", "tenants")
    header = said.get("header")
    if header is not None and (not isinstance(header, str) or not _HEADER.fullmatch(header.lower())):
        raise UsageError(f"{header!r} is no header's name")
    for name, one in tenants.items():
        _check_one(name, one, models, by_token=header is None)
    digests = [one.get("token_sha256") for one in tenants.values()]
    if header is None and len(set(digests)) < len(digests):
        raise UsageError("two tenants have the same token_sha256: nobody could tell them apart")
    return {"header": header.lower() if header else None, "tenants": tenants}


def _check_one(name: str, one: Any, models: set[str], by_token: bool) -> None:
    mine = one.get("models") if isinstance(one, dict) else None
    if not isinstance(mine, list) or not mine or not all(isinstance(model, str) for model in mine):
        raise UsageError(f'{name!r} must have "models", a list of names')
    _only(one, "models", "token_sha256")
    for model in mine:
        if model not in models:
            raise UsageError(f"{name!r} may use {model!r}, which is no model here; there are: {_listed(models)}")
    digest = one.get("token_sha256")
    if by_token and not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise UsageError(
            f'{name!r} needs a "token_sha256", the 64 hex digits of its token\'s hash: no "header" says who asks'
        )


def _only(said: dict[str, Any], *known: str) -> None:
    for field in said:
        if field not in known:
            raise UsageError(f"there is no field {field!r}; there are: {', '.join(known)}")


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
