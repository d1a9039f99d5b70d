"""JSON over `_json`, the C half of the json module.

`import json` costs 8 ms of a cold start, nearly all of it for `re`, which only its slow paths need.
"""

from _json import encode_basestring_ascii, make_encoder, make_scanner

from coldpress_runtime.faults import BadRequest

__all__ = ["dumps", "loads", "quote"]

quote = encode_basestring_ascii
_SPACE = " \t\n\r"


def _refuse_constant(name: str) -> float:
    raise BadRequest(
        400, "invalid_json", f"the body holds {name}, which JSON does not have; send a number or null"
    )


class _Decoding:
    """What the C scanner wants to know."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)


_scan = make_scanner(_Decoding())  # type: ignore[arg-type]  # it asks for no more than these


def _refuse_type(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no JSON form")


# markers, default, encoder, indent, key separator, item separator, sort_keys, skipkeys, allow_nan
_encode = make_encoder(None, _refuse_type, quote, None, ": ", ", ", False, False, False)


def _scan_at(text: str, start: int) -> tuple[object, int]:
    try:
        found: tuple[object, int] = _scan(text, start)
    except SystemError:
        # The C scanner takes the type of its errors from json.decoder and fails without it.
        import json.decoder  # noqa: F401

        found = _scan(text, start)
    return found


def loads(data: str | bytes) -> object:
    """Parse JSON that came from outside; whatever is wrong with it becomes a BadRequest."""
    try:
        text = data if isinstance(data, str) else data.decode().removeprefix("\ufeff")
        value, end = _scan_at(text, len(text) - len(text.lstrip(_SPACE)))
        if text[end:].strip(_SPACE):
            raise ValueError(f"something follows the value at character {end}")
    except StopIteration as stop:
        raise BadRequest(
            400, "invalid_json", f"the body is not JSON: no value at character {stop.value}"
        ) from None
    except RecursionError:
        raise BadRequest(400, "invalid_json", "the body is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise BadRequest(400, "invalid_json", f"the body is not UTF-8: byte {error.start} is wrong") from None
    except ValueError as error:
        raise BadRequest(400, "invalid_json", f"the body is not JSON: {error}") from None
    return value


def dumps(value: object) -> str:
    return "".join(_encode(value, 0))
