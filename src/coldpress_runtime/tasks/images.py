"""Reading the pictures of a request, and running a model on them."""

from coldpress_runtime.faults import BadRequest, EngineError
from coldpress_runtime.native import read_memory
from coldpress_runtime.pictures import Pictures
from coldpress_runtime.tasks.texts import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldpress_runtime.model import Model

EXAMPLE = '{"image": "base64 of a JPEG or PNG"}'


class Images:
    def __init__(self, model: "Model") -> None:
        spec = model.spec
        self._pictures = Pictures(model.libraries, spec)
        self._session = model.session
        self._limits: dict[str, int] = spec["limits"]
        self._dimensions: int = spec["dimensions"]

    def numbers(self, body: "Mapping[str, object]") -> list[list[float]]:
        """The model's answer to each picture."""
        pixels = [self._pictures.read(data, place) for place, data in self._given(body)]
        shape, size = (self._pictures.height, self._pictures.width, 3), 4 * self._dimensions
        found = []
        for start in range(0, len(pixels), self._limits["batch"]):
            batch = pixels[start : start + self._limits["batch"]]
            (made,) = self._session.call([("uint8", (len(batch), *shape), b"".join(batch))])
            try:
                answer = read_memory(made.address, size * len(batch))
            finally:
                made.close()
            for at in range(len(batch)):
                values: list[Any] = memoryview(answer)[at * size : at * size + size].cast("f").tolist()
                if not all(value - value == 0 for value in values):
                    raise EngineError("the model answered with a value that is not a finite number")
                found.append(values)
        return found

    def _given(self, body: "Mapping[str, object]") -> list[tuple[str, bytes]]:
        given = body.get("image")
        many = given if isinstance(given, list) else [given]
        if not many:
            raise BadRequest(400, "empty_input", "'image' is an empty list; send at least one picture")
        if len(many) > self._limits["images"]:
            raise BadRequest(
                413,
                "too_many_images",
                f"'image' holds {len(many)} pictures; the limit is {self._limits['images']}: send them in parts",
            )
        return [(f"image[{at}]", from_base64(one, f"image[{at}]")) for at, one in enumerate(many)]


def from_base64(value: object, place: str) -> bytes:
    """Bytes as they came over HTTP, or in base64, also behind `data:image/…;base64,`."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise BadRequest(400, "wrong_type", f"{place} must be base64 in a text, not {shown(value)}")
    from binascii import Error, a2b_base64

    if value.startswith("data:"):
        value = value.partition(",")[2]
    try:
        data = a2b_base64(value)
    except (Error, ValueError):
        raise BadRequest(400, "invalid_base64", f"{place} is not base64") from None
    if not data:
        raise BadRequest(400, "empty_input", f"{place} is empty")
    return data
