"""Our JSON is the json module's, without its imports."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps, loads

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@given(values)
def test_round_trip(value: object) -> None:
    assert dumps(value) == json.dumps(value)
    assert loads(json.dumps(value)) == value
    assert (
        loads(
            json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
        )
        == value
    )


@given(st.text() | st.binary())
def test_anything_else_is_a_bad_request(data: str | bytes) -> None:
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        expected = json.loads(
            text.removeprefix("\ufeff") if isinstance(data, bytes) else text, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        with pytest.raises(BadRequest):
            loads(data)
    else:
        assert loads(data) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, b"bytes"])
def test_what_has_no_json_form_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        dumps(value)


def _refuse(name: str) -> float:
    raise ValueError(name)
