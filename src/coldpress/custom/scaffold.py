"""What `coldpress init` writes: a coldpress.toml and a class, commented, that build and answer as they are."""

import json
import os
import struct
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from coldpress.custom.project import FILE
from coldpress.errors import TargetError, UsageError
from coldpress.intake import Options, find
from coldpress.intake.folder import function_name

CODE = "model.py"
#: one grey pixel, as a PNG
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
#: an eighth of a second of silence, as a WAV
_SOUND = b64encode(
    b"RIFF"
    + struct.pack("<I4s4sIHHIIHH4sI", 1036, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 1000)
    + b"\x80" * 1000
).decode()


@dataclass(frozen=True)
class _Shape:
    """How a task is asked, for an example, and what it answers."""

    request: dict[str, object]
    answer: str


_SHAPES = {
    "embeddings": _Shape({"text": "hello, world"}, '{"embeddings": [[0.1, …]]}'),
    "text-classification": _Shape({"text": "hello, world"}, '[{"label": "…", "score": 0.9}]'),
    "token-classification": _Shape({"text": "Ada lived in London."}, '[{"entity": "…", "word": "…", …}]'),
    "reranking": _Shape({"query": "a city", "documents": ["London", "a cat"]}, '{"scores": [0.9, 0.1]}'),
    "question-answering": _Shape(
        {"question": "Where did Ada live?", "context": "Ada lived in London."}, '{"answer": "London", …}'
    ),
    "fill-mask": _Shape({"text": "London is a MASK."}, '[{"token_str": "city", "score": 0.9, …}]'),
    "image-classification": _Shape({"image": _PIXEL}, '[{"label": "…", "score": 0.9}]'),
    "image-embeddings": _Shape({"image": _PIXEL}, '{"embeddings": [[0.1, …]]}'),
    "audio-classification": _Shape({"audio": _SOUND}, '[{"label": "…", "score": 0.9}]'),
}

_TOML = """\
# What `coldpress build --out DIR` makes of this folder.

[function]
name = {name}
# The class that answers: a .py file or a package's folder beside this file, and the class in it.
code = "{code}:Model"
# Wheels for the function's platform, with what they need in turn; or the name of a requirements.txt.
# requirements = ["pillow==13.0.0"]
# Files and folders that go along; the class finds them below ctx.folder. Nothing else of this folder is packed.
# files = ["labels.json"]
# The Python of the function. Default: the newest that is on this machine.
# python = "3.13"
# x86_64 or arm64. Default: like this machine.
# arch = "arm64"

{hash}[model]
# What ctx.task("model") and ctx.session("model") ask: a folder, a hub id, or demo:minilm.
{hash}source = {source}
# How it is pressed, as the options of `coldpress build` say it:
# task, engine, precision, pooling, max_tokens, max_drift, revision, quick
# engine = "onnxruntime"

[samples]
# Asked once when the function is built; it fails if one of them is not answered.
requests = [{sample}]
"""

_CLASS = '''\
"""The function's own code; {toml} names it. Only Python's own modules and `requirements` can be imported."""

from coldpress_runtime.faults import BadRequest


class Model:
    def load(self, ctx):
        """Once per sandbox, before the first request: open here what predict needs. ctx.folder has your files."""
{load}
    def predict(self, inputs):
        """A request, as a dict, in; the answer, anything with a JSON form, out. With `yield` it streams."""
        for field in {fields}:
            if field not in inputs:  # the caller's mistake: a status, a code, and a sentence
                raise BadRequest(400, "missing_field", f"the field {{field!r}} is missing")
{predict}
    # A list of requests comes here, if this is there, else to predict one by one; an answer for each is due.
    # def predict_batch(self, many):
    #     return [self.predict(inputs) for inputs in many]
'''

_ASKS = (
    """\
        # The pressed model, asked as its own function would be. ctx.session("model") is the bare engine.
        self.model = ctx.task("model")
""",
    """\
        asked = {{field: inputs[field] for field in {fields}}}
        return self.model(asked)  # {answer}
""",
)
_GENERIC = (
    """\
        self.greeting = "hello"
""",
    """\
        return {{"said": f"{{self.greeting}}, {{inputs['name']}}"}}
""",
)


def write_scaffold(folder: Path, model: str | None) -> list[Path]:
    """Write both files, for the task of `model` if there is one; existing ones are never touched."""
    targets = [folder / FILE, folder / CODE]
    for path in targets:
        if path.exists() or path.is_symlink():
            raise TargetError(f"{path} is there already and stays as it is; choose another folder with --out")
    texts = _texts(folder, model)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(targets, texts, strict=True):
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise TargetError(f"{folder} cannot be written to: {error.strerror}; choose another with --out") from None
    return targets


def _texts(folder: Path, model: str | None) -> tuple[str, str]:
    if model is None:
        load, predict = _GENERIC
        request: dict[str, object] = {"name": "world"}
        name, answer, source = function_name(None, folder.resolve().name), "", "demo:minilm"
    else:
        load, predict = _ASKS
        name, request, answer = _detected(model)
        source = os.path.relpath(model, folder) if Path(model).is_dir() else model
    fields = repr(tuple(request)).replace("'", '"')
    sample = ", ".join(f"{key} = {_quoted(value)}" for key, value in request.items())
    toml = _TOML.format(
        name=_quoted(name),
        code=CODE,
        hash="# " if model is None else "",
        source=_quoted(source),
        sample=f"{{ {sample} }}",
    )
    predict = predict.format(fields=fields, answer=answer)
    return toml, _CLASS.format(toml=FILE, load=load, fields=fields, predict=predict)


def _detected(model: str) -> tuple[str, dict[str, object], str]:
    """The name of a model, and how its task is asked."""
    with find(model, Options()) as source:
        if source.task not in _SHAPES:
            raise UsageError(
                f"{model} takes named tensors, and init has no class for that: run it without a model, and ask "
                "ctx.session('model') in a class of your own"
            )
        shape = _SHAPES[source.task]
        request = dict(shape.request)
        if source.task == "fill-mask":
            from coldpress.tasks import task_of

            request["text"] = str(request["text"]).replace("MASK", task_of(source).spec()["mask_text"])
        return source.name, request, shape.answer


def _quoted(value: object) -> str:
    """Texts and lists of them are written alike in JSON and in TOML."""
    return json.dumps(value)
