"""Picture → embedding."""

from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.images import EXAMPLE, Images
from coldpress_runtime.tasks.scores import number
from coldpress_runtime.tasks.texts import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route


class ImageEmbeddings:
    bytes_field, bytes_types = "image", ("image/", "application/octet-stream")

    def __init__(self, model: "Model") -> None:
        self._images = Images(model)
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        rows = self._images.numbers(fields(request, EXAMPLE))
        return dumps({"embeddings": [[number(one) for one in row] for row in rows]})
