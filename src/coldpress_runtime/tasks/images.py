"""Reading the pictures of a request, and running a model on them."""

from coldpress_runtime.pictures import Pictures
from coldpress_runtime.tasks.bytes import attached
from coldpress_runtime.tasks.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from coldpress_runtime.model import Model

EXAMPLE = '{"image": "base64 of a JPEG or PNG"}'


class Images:
    def __init__(self, model: "Model") -> None:
        spec = model.spec
        self._pictures = Pictures(model.libraries, spec)
        self._session = model.session
        self._limits: dict[str, int] = spec["limits"]
        self._dimensions: int = spec["dimensions"]

    @property
    def most(self) -> int:
        """Pictures in one request."""
        return self._limits["images"]

    def numbers(self, body: "Mapping[str, object]") -> list[list[float]]:
        """The model's answer to each picture."""
        given = attached(body, "image", "picture", "too_many_images", self._limits["images"])
        pixels = [self._pictures.read(data, place) for place, data in given]
        shape = (self._pictures.height, self._pictures.width, 3)
        found: list[list[float]] = []
        for start in range(0, len(pixels), self._limits["batch"]):
            batch = pixels[start : start + self._limits["batch"]]
            read = ("uint8", (len(batch), *shape), b"".join(batch))
            found += rows(self._session, read, len(batch), self._dimensions)
        return found
