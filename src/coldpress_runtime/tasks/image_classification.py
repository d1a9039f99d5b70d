"""Picture → labels with scores, as transformers' image-classification gives them."""

from coldpress_runtime.tasks.images import EXAMPLE, Images
from coldpress_runtime.tasks.scores import Wanted
from coldpress_runtime.tasks.texts import fields, merged, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route


class ImageClassification:
    #: the field that a body of plain bytes stands for, and what such a body calls itself
    bytes_field, bytes_types = "image", ("image/", "application/octet-stream")

    def __init__(self, model: "Model") -> None:
        self._images = Images(model)
        self.batch_limit = self._images.most
        self._labels: list[str] = model.spec["labels"]
        self._function: str = model.spec["function"]
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, EXAMPLE)
        wanted = Wanted(body, self._function)
        return wanted.answer(self._labels, self._images.numbers(body), isinstance(body.get("image"), list))

    def batch_key(self, body: "Mapping[str, object]") -> str | None:
        return together(body, "image")

    def many(self, bodies: "Sequence[Mapping[str, object]]", room: int) -> list[str]:
        body = merged(bodies, "image")
        wanted = Wanted(body, self._function)
        return [wanted.answer(self._labels, [row], False) for row in self._images.numbers(body)]
