"""From a model's logits to what people read: probabilities, and the best few of them."""

from math import exp

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.texts import flag, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FUNCTIONS = ("softmax", "sigmoid", "none")
SHOWN = 5


class Wanted:
    """What a request wants to hear of a picture or a sound: how many labels, scored how, or the logits."""

    def __init__(self, body: "Mapping[str, object]", function: str) -> None:
        self._top = count(body, "top_k", SHOWN)
        self._function = choice(body, "function_to_apply", function, FUNCTIONS)
        self._whole = flag(body, "logits", False)

    def answer(self, labels: list[str], logits: list[list[float]], many: bool) -> str:
        if self._whole:
            return dumps({"logits": [[number(one) for one in row] for row in logits]})
        answers = [ranked(labels, apply(self._function, row))[: self._top] for row in logits]
        return dumps(answers if many else answers[0])


def softmax(logits: list[float]) -> list[float]:
    most = max(logits)
    weights = [exp(logit - most) for logit in logits]
    total = sum(weights)
    return [weight / total for weight in weights]


def sigmoid(logit: float) -> float:
    if logit >= 0:
        return 1 / (1 + exp(-logit))
    small = exp(logit)
    return small / (1 + small)


def apply(function: str, logits: list[float]) -> list[float]:
    if function == "softmax":
        return softmax(logits)
    return [sigmoid(logit) for logit in logits] if function == "sigmoid" else logits


def ranked(labels: list[str], scores: list[float]) -> "list[dict[str, object]]":
    """The likeliest first."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    return [{"label": labels[at], "score": number(scores[at])} for at in order]


def number(value: float) -> float:
    """As many digits as a float32 has."""
    return float(f"{value:.7g}")


def count(body: "Mapping[str, object]", field: str, default: int | None) -> int | None:
    """A whole number of at least one; null stands for all there are."""
    value = body.get(field, default)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise BadRequest(
            400, "unsupported_value", f"{field!r} is {shown(value)}; it can be a number from 1 on, or null for all"
        )
    return value


def choice(body: "Mapping[str, object]", field: str, default: str, allowed: tuple[str, ...]) -> str:
    value = body.get(field)
    if value is None:
        return default
    if value not in allowed:
        raise BadRequest(400, "unsupported_value", f"{field!r} is {shown(value)}; it can be: {', '.join(allowed)}")
    assert isinstance(value, str)
    return value
