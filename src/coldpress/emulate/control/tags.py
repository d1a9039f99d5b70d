"""Tags of a function."""

from typing import Any

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Call, Said
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Function

_MOST = 50


def checked_tags(said: Any) -> dict[str, str]:
    if not isinstance(said, dict):
        raise errors.invalid("Tags must be an object of texts")
    for key, value in said.items():
        if not isinstance(value, str) or not 1 <= len(key) <= 128 or len(value) > 256 or key.startswith("aws:"):
            raise errors.invalid(
                f"the tag {key[:128]!r}: keys have 1 to 128 characters and do not begin with aws:, "
                "values are texts of at most 256"
            )
    if len(said) > _MOST:
        raise errors.invalid(f"there are {len(said)} tags; a function may have {_MOST}")
    return said


def add(plane: Plane, call: Call) -> None:
    function = _tagged(plane, call)
    function.tags = checked_tags({**function.tags, **checked_tags(call.body.get("Tags"))})
    plane.store.save(function)


def remove(plane: Plane, call: Call) -> None:
    function = _tagged(plane, call)
    keys = call.query.get("tagKeys", [])
    function.tags = {key: value for key, value in function.tags.items() if key not in keys}
    plane.store.save(function)


def list_of(plane: Plane, call: Call) -> Said:
    return {"Tags": _tagged(plane, call).tags}


def _tagged(plane: Plane, call: Call) -> Function:
    name, qualifier = names.split(call.path["Resource"])
    if qualifier:
        raise errors.invalid(
            "Tags on function aliases and versions are not supported. Please specify a function ARN."
        )
    return plane.draft(name)
