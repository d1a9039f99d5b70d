"""Sound → labels with scores, as transformers' audio-classification gives them."""

from coldpress_runtime.sounds import Sounds
from coldpress_runtime.tasks.bytes import attached
from coldpress_runtime.tasks.rows import rows
from coldpress_runtime.tasks.scores import Wanted
from coldpress_runtime.tasks.texts import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route

EXAMPLE = '{"audio": "base64 of a WAV"}'


class AudioClassification:
    bytes_field, bytes_types = "audio", ("audio/", "application/octet-stream")

    def __init__(self, model: "Model") -> None:
        spec = model.spec
        self._sounds = Sounds(model.libraries, spec)
        self._session = model.session
        self._most: int = spec["limits"]["sounds"]
        self._labels: list[str] = spec["labels"]
        self._function: str = spec["function"]
        self.routes: dict[str, Route] = {"/": self.plain}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, EXAMPLE)
        wanted = Wanted(body, self._function)
        return wanted.answer(self._labels, self._logits(body), isinstance(body.get("audio"), list))

    def _logits(self, body: "Mapping[str, object]") -> list[list[float]]:
        """One sound after the other: they differ in length, and padding would change what a model hears."""
        given = attached(body, "audio", "sound", "too_many_sounds", self._most)
        heard = [self._sounds.read(data, place) for place, data in given]
        found: list[list[float]] = []
        for samples in heard:
            found += rows(self._session, ("float32", (1, len(samples) // 4), samples), 1, len(self._labels))
        return found
