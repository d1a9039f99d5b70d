"""Picture → embedding."""

from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.images import EXAMPLE, Images
from coldpress_runtime.tasks.scores import number
from coldpress_runtime.tasks.texts import fields, merged, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route


class ImageEmbeddings:
    bytes_field, bytes_types = "image", ("image/", "application/octet-stream")

    def __init__(self, model: "Model") -> None:
        self._images = Images(model)
        self.batch_limit = self._images.most
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        return self._written(self._images.numbers(fields(request, EXAMPLE)))

    def batch_key(self, body: "Mapping[str, object]") -> str | None:
        return together(body, "image")

    def many(self, bodies: "Sequence[Mapping[str, object]]", room: int) -> list[str]:
        return [self._written([row]) for row in self._images.numbers(merged(bodies, "image"))]

    def _written(self, rows: list[list[float]]) -> str:
        return dumps({"embeddings": [[number(one) for one in row] for row in rows]})
