"""Picture → labels with scores, as transformers' image-classification gives them."""

from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.images import EXAMPLE, Images
from coldpress_runtime.tasks.scores import FUNCTIONS, apply, choice, count, number, ranked
from coldpress_runtime.tasks.texts import fields, flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route

SHOWN = 5


class ImageClassification:
    #: the field that a body of plain bytes stands for, and what such a body calls itself
    bytes_field, bytes_types = "image", ("image/", "application/octet-stream")

    def __init__(self, model: "Model") -> None:
        self._images = Images(model)
        self._labels: list[str] = model.spec["labels"]
        self._function: str = model.spec["function"]
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, EXAMPLE)
        top = count(body, "top_k", SHOWN)
        function = choice(body, "function_to_apply", self._function, FUNCTIONS)
        whole = flag(body, "logits", False)
        logits = self._images.numbers(body)
        if whole:
            return dumps({"logits": [[number(one) for one in row] for row in logits]})
        answers = [ranked(self._labels, apply(function, row))[:top] for row in logits]
        return dumps(answers if isinstance(body.get("image"), list) else answers[0])
