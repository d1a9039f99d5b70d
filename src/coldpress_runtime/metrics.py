"""Figures for CloudWatch, a line a request in its embedded metric format (COLDPRESS_METRICS=on).

The line is written when the answer is on its way: it makes nobody wait. Only what differs from request to request
is put together then; the rest of the line is made once for each set of figures.
"""

from posix import write
from time import monotonic_ns, time_ns

from coldpress_runtime.jsontext import dumps, quote
from coldpress_runtime.settings import variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from coldpress_runtime.function import Function
    from coldpress_runtime.parallel import Serve
    from coldpress_runtime.runtime_api import Invocation, RuntimeApi

NAMESPACE = "coldpress"
DIMENSIONS = (("FunctionName",), ("FunctionName", "Model"))
#: what is written, and in which unit
NAMES = {
    "ColdStart": "Count",
    "LoadTime": "Milliseconds",
    "Latency": "Milliseconds",
    "Tokens": "Count",
    "BatchSize": "Count",
    "CacheHit": "Count",
    "Failure": "Count",
}
_STDOUT = 1


class Meter:
    """Serves as `serve` does, and writes the line."""

    def __init__(self, function: "Function", serve: "Serve", load_ms: float) -> None:
        self._function = function
        self._serve = serve
        #: what a cold start took; once
        self._load: float | None = load_ms
        self._named = quote(variable("AWS_LAMBDA_FUNCTION_NAME") or "local")
        #: what stands in a line before the figures, by their names
        self._directives: dict[tuple[str, ...], str] = {}
        if function.many is not None:
            function.many.shelf.used = []

    def __call__(self, api: "RuntimeApi", function: "Function", invocation: "Invocation") -> None:
        failures, before = api.failures, counted(function.opened)
        began = monotonic_ns()
        self._serve(api, function, invocation)
        figures: dict[str, float] = {
            "Latency": (monotonic_ns() - began) / 1e6,
            "Failure": api.failures - failures,
            "ColdStart": 0,
        }
        if self._load is not None:
            figures["ColdStart"], figures["LoadTime"], self._load = 1, self._load, None
        trace_id = invocation.headers.get("lambda-runtime-trace-id", "")
        about = f'"requestId":"{invocation.request_id}","traceId":{quote(trace_id)}'
        if function.many is None:
            texts, tokens = counted(function.opened)
            own = {"BatchSize": texts - before[0], "Tokens": tokens - before[1]}
            return self._write(function.name, about, {**figures, **own})
        used, function.many.shelf.used = function.many.shelf.used, []
        if not used:  # the request was refused before any of them was asked
            return self._write("none", about, figures)
        for one in used:
            figures |= {"CacheHit": int(one.hit), "BatchSize": one.texts, "Tokens": one.tokens}
            self._write(one.name, about, figures if one.hit else {**figures, "LoadTime": one.load_ms})
            figures = {}  # what is a request's own is told once, however many models it used
        return None

    def _write(self, model: str, about: str, figures: dict[str, float]) -> None:
        names = (*figures,)
        directive = self._directives.get(names)
        if directive is None:
            directive = self._directives[names] = _directive(names)
        said = ",".join([f'"{name}":{value:.6g}' for name, value in figures.items()])
        line = (
            f'{{"_aws":{{"Timestamp":{time_ns() // 1_000_000},{directive}}},"FunctionName":{self._named},'
            f'"Model":{quote(model)},{about},{said}}}\n'
        )
        write(_STDOUT, line.encode())


def counted(task: "Any") -> tuple[int, int]:
    """Texts and tokens that a task has read so far."""
    reader = getattr(task, "_reader", None)
    return (0, 0) if reader is None else (reader.texts, reader.tokens)


def _directive(names: "Iterable[str]") -> str:
    """What CloudWatch is to make of a line that has these figures."""
    metrics = [{"Name": name, "Unit": NAMES[name]} for name in names]
    said = {"Namespace": NAMESPACE, "Dimensions": [[*one] for one in DIMENSIONS], "Metrics": metrics}
    return f'"CloudWatchMetrics":[{dumps(said)}]'
