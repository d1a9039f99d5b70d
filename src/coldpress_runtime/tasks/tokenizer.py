"""The tokenizers library without its Python package: its one extension module, loaded by hand.

The package around it would import a dozen modules; the extension alone is ready in 3 ms.
"""

import _imp
from _frozen_importlib import ModuleSpec
from posix import putenv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Encoding(Protocol):
        ids: list[int]
        overflowing: list["Encoding"]

    class Tokenizer(Protocol):
        def encode_batch(self, texts: list[str]) -> list[Encoding]: ...


LIBRARY = "tokenizers.abi3.so"


def open_tokenizer(library: str, path: str) -> "Tokenizer":
    # Its thread pool costs more than it gives on a vCPU or two.
    putenv("TOKENIZERS_PARALLELISM", "false")
    spec = ModuleSpec("tokenizers", None, origin=library)
    module = _imp.create_dynamic(spec)
    _imp.exec_dynamic(module)
    tokenizer: Tokenizer = module.Tokenizer.from_file(path)
    return tokenizer
