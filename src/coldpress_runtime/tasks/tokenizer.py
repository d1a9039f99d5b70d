"""The tokenizers library without its Python package: its one extension module, loaded by hand.

The package around it would import a dozen modules; the extension alone is ready in 3 ms.
"""

import _imp
from _frozen_importlib import ModuleSpec
from posix import putenv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Tokenizer(Protocol):
        def encode(self, texts: list[str]) -> list[tuple[list[int], bool]]:
            """Token ids of each text, and whether it was cut to the model's length."""


LIBRARY = "tokenizers.abi3.so"


class HuggingFace:
    def __init__(self, library: str, path: str) -> None:
        # Its thread pool costs more than it gives on a vCPU or two.
        putenv("TOKENIZERS_PARALLELISM", "false")
        module = _imp.create_dynamic(ModuleSpec("tokenizers", None, origin=library))
        _imp.exec_dynamic(module)
        self._encode = module.Tokenizer.from_file(path).encode_batch

    def encode(self, texts: list[str]) -> list[tuple[list[int], bool]]:
        return [(encoding.ids, bool(encoding.overflowing)) for encoding in self._encode(texts)]
