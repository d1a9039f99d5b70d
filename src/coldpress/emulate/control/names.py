"""Names of functions, versions and aliases, and the ARNs made of them."""

import re

from coldpress.emulate.control import errors
from coldpress.emulate.front.invoke_api import NAME, Refusal
from coldpress.emulate.sandboxes.invocation import ACCOUNT, REGION

LATEST = "$LATEST"
_OWN_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ALIAS = re.compile(r"(?!\d+\Z)[a-zA-Z0-9_-]{1,128}")


def split(said: str, qualifier: str = "") -> tuple[str, str]:
    """The name and the qualifier that a path and a query mean together; none is empty."""
    parsed = NAME.match(said)
    if parsed is None:
        raise Refusal(400, "ValidationException", f"Value '{said}' at 'functionName' is no function's name")
    name, derived = parsed.groups()
    if derived and qualifier and derived != qualifier:
        raise errors.invalid(
            "The derived qualifier from the function name does not match the specified qualifier."
        )
    return name, qualifier or derived or ""


def new_name(said: str) -> str:
    name, qualifier = split(said)
    if qualifier or not _OWN_NAME.fullmatch(name):
        raise Refusal(
            400,
            "ValidationException",
            f"Value '{said}' at 'functionName' is no function's name: letters, digits, - and _, at most 64",
        )
    return name


def new_alias(said: object) -> str:
    if not isinstance(said, str) or not _ALIAS.fullmatch(said):
        raise Refusal(
            400,
            "ValidationException",
            f"Value '{said}' at 'name' is no alias: letters, digits, - and _, at most 128, not digits alone",
        )
    return said


def arn(name: str, qualifier: str = "") -> str:
    whole = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
    return f"{whole}:{qualifier}" if qualifier else whole
