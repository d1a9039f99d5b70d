"""Intake: find a model and describe it. Whatever a person has comes out as one `Source`."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from coldpress.errors import ModelNotFound, UsageError
from coldpress.intake.archive import ENDINGS, unpacked
from coldpress.intake.source import Options, Source
from coldpress.intake.web import fetch, is_address

__all__ = ["Options", "Source", "find"]

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def find(model: Any, options: Options) -> AbstractContextManager[Source]:
    """Find `model`: a folder, a file, a hub id, `demo:NAME`, or a live model. Valid inside the `with`."""
    if options.module is not None:
        from coldpress.intake.module import describe_factory

        return nullcontext(describe_factory(options.module, None if model is None else Path(model), options))
    if not isinstance(model, str | Path):
        from coldpress.intake.live import describe_live

        return describe_live(model, options)
    return _named(str(model), options)


def _named(text: str, options: Options) -> AbstractContextManager[Source]:
    """By path, address or name."""
    from coldpress.intake.folder import describe_folder

    if text.startswith("demo:"):
        from coldpress.intake.demo import demo_folder

        return nullcontext(describe_folder(demo_folder(text), text, options))
    if is_address(text):
        return _fetched(text, options)
    if Path(text).is_dir():
        return nullcontext(describe_folder(Path(text), Path(text).resolve().name, options))
    if Path(text).is_file():
        return _file(Path(text), options)
    if _HUB_ID.fullmatch(text) and not text.startswith("."):
        from coldpress.intake.hub import download

        folder, origin = download(text, options.revision, options.trust_remote_code)
        return nullcontext(describe_folder(folder, origin, options))
    raise ModelNotFound(
        f"no model at {text!r}: it is not there. Give a folder with config.json and weights, "
        "a hub id such as sentence-transformers/all-MiniLM-L6-v2, or demo:minilm"
    )


def _file(path: Path, options: Options) -> AbstractContextManager[Source]:
    """A model in one file, by how its name ends."""
    ending = path.suffix.lower()
    if ending == ".onnx":
        from coldpress.intake.onnx_file import describe_onnx

        return nullcontext(describe_onnx(path, options))
    if ending == ".pt2":
        from coldpress.intake.program import describe_program

        return nullcontext(describe_program(path, options))
    if ending in (".pt", ".pth", ".ts", ".bin"):
        from coldpress.intake.torchscript import describe_torchscript, is_torchscript

        if is_torchscript(path):
            return nullcontext(describe_torchscript(path, options))
        from coldpress.intake.tensors_file import load_tensors

        load_tensors(path)  # refuses what is no plain file of tensors, with its reason
    if path.name.endswith(ENDINGS):
        return _archived(path, options)
    known = ".safetensors, .pt, .pth, .bin" if ending in (".safetensors", ".pt", ".pth", ".bin") else None
    if known:
        raise UsageError(
            f"{path} holds weights alone: whose they are says --module package.module:factory (or file.py:factory)"
        )
    raise ModelNotFound(
        f"{path} is a file that no model is known to come as: .onnx, .pt2, TorchScript, an archive "
        f"({', '.join(ENDINGS)}), or weights with --module"
    )


@contextmanager
def _fetched(url: str, options: Options) -> Iterator[Source]:
    with tempfile.TemporaryDirectory(prefix="coldpress-fetched-") as folder, ExitStack() as stack:
        yield stack.enter_context(_file(fetch(url, Path(folder)), options))


@contextmanager
def _archived(path: Path, options: Options) -> Iterator[Source]:
    from coldpress.intake.folder import describe_folder

    with unpacked(path) as folder:
        yield describe_folder(folder, path.name.partition(".")[0], options)
