"""What custom code is given when it loads: its folder, and the pressed models, as tasks or as bare engines."""

from _struct import Struct

from coldpress_runtime import settings
from coldpress_runtime.faults import BadRequest, LoadError
from coldpress_runtime.jsontext import loads
from coldpress_runtime.model import open_model
from coldpress_runtime.tasks import open_task
from coldpress_runtime.tasks.tensors import CODES, SIZES, memory_of, product, read_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from coldpress_runtime.engines import Input
    from coldpress_runtime.model import Model

#: what a task may answer inside the function, where no limit of Lambda's applies
_ROOM = 1 << 40


class Context:
    def __init__(self, model: "Model", root: str) -> None:
        #: where the code lies, and the files that go with it
        self.folder = f"{root}/code"
        self._parts = model.folder
        self._libraries = model.libraries
        self._names: list[str] = model.spec["models"]
        self._opened: dict[str, Model] = {}

    def task(self, name: str = "model") -> "Callable[..., Any]":
        """A pressed model as a function of its own would serve it: a request in, its answer out, both parsed."""
        routes = open_task(self._open(name)).routes

        def ask(request: object, path: str = "/") -> "Any":
            if path not in routes:
                raise LoadError(f"the model {name!r} has nothing at {path!r}; it has {', '.join(routes)}")
            return loads(routes[path](request, _ROOM))

        return ask

    def session(self, name: str = "model") -> "Session":
        """The engine on a pressed model: named tensors in, named tensors out."""
        return Session(self._open(name))

    def _open(self, name: str) -> "Model":
        if name not in self._names:
            there = ", ".join(map(repr, self._names)) or "none; [model] in coldpress.toml adds one"
            raise LoadError(f"this function has no model {name!r}; it has {there}")
        if name not in self._opened:
            self._opened[name] = open_model(f"{self._parts}/{name}", self._libraries, settings.threads())
        return self._opened[name]


class Tensor:
    """Numbers as they lie in memory, little-endian, with their type and their shape."""

    __slots__ = ("data", "shape", "type")

    def __init__(self, kind: str, shape: list[int], data: bytes) -> None:
        self.type = kind
        self.shape = shape
        self.data = data

    def tolist(self) -> "Any":
        """Nested lists, as deep as the tensor has axes."""
        values: list[Any] = [*Struct(f"<{product(self.shape)}{CODES[self.type]}").unpack(self.data)]
        for axis in range(len(self.shape) - 1, 0, -1):
            size, groups = self.shape[axis], product(self.shape[:axis])
            values = [values[at * size : at * size + size] for at in range(groups)]
        return values if self.shape else values[0]


class Session:
    """A tensor goes in as nested lists or as (type, shape, bytes), and comes out as a Tensor."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        spec = model.spec
        reads_ids = model.tokenizer is not None
        #: name → type and shape, where they are known
        self._forms: dict[str, tuple[str, list[int | None]] | None]
        if spec["task"] == "tensors":
            self._forms = {one["name"]: (one["type"], one["shape"]) for one in spec["inputs"]}
            self.outputs: list[str] = [one["name"] for one in spec["outputs"]]
        else:
            names = spec.get("graph_inputs") or ["input_ids"]
            self._forms = dict.fromkeys(names, ("int64", [None, None]) if reads_ids else None)
            self.outputs = spec.get("graph_outputs") or [
                "embeddings" if spec["task"] == "embeddings" else "logits"
            ]
        self.inputs = [*self._forms]

    def tokens(self, text: str) -> list[int]:
        """The token ids of a text, cut to the model's length."""
        if self._model.tokenizer is None:
            raise LoadError(f"the model {self._model.spec['name']!r} reads no text, so it has no tokens")
        return self._model.tokenizer.encode([text])[0][0]

    def run(self, inputs: "Mapping[str, Any]") -> dict[str, Tensor]:
        if set(inputs) != set(self.inputs):
            raise BadRequest(
                400,
                "unknown_input",
                f"the engine got {', '.join(map(str, inputs)) or 'nothing'}; it takes {', '.join(self.inputs)}",
            )
        tensors = [self._read(name, inputs[name]) for name in self.inputs]
        if self._model.spec["engine"] == "press":
            return {self.outputs[0]: self._press(*tensors[0])}
        made = self._model.session.call(tensors)
        try:
            return {name: Tensor(*memory_of(one)) for name, one in zip(self.outputs, made, strict=True)}
        finally:
            for one in made:
                one.close()

    def _read(self, name: str, value: "Any") -> "Input":
        form = self._forms[name]
        if form is None:
            if not isinstance(value, tuple):
                raise BadRequest(400, "wrong_type", f"{name} must be given as (type, shape, bytes)")
            form = value[0], [*value[1]]
        if form[0] not in SIZES:
            raise BadRequest(
                400, "wrong_type", f"{name} is of the type {form[0]!r}; it can be: {', '.join(SIZES)}"
            )
        return read_tensor(value, name, *form)

    def _press(self, kind: str, shape: tuple[int, ...], data: bytes) -> Tensor:
        """Press takes lists of token ids, and gives rows of floats."""
        spec = self._model.spec
        rows: list[list[int]] = Tensor(kind, [*shape], data).tolist()
        output = self._model.session.run(rows)
        start, stop = output.row(0)[0], output.row(len(rows) - 1)[1]
        form = [*shape, spec["dimensions"]] if spec["per_token"] else [len(rows), spec["dimensions"]]
        return Tensor("float32", form, output.raw(start, stop))
