"""The tokenizers library without its Python package: its one extension module, loaded by hand.

The package around it would import a dozen modules; the extension alone is ready in 3 ms.
"""

import _imp
from _frozen_importlib import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    #: for each token the characters of the text that it stands for: from, to
    Spans = list[tuple[int, int]]

    class Tokenizer(Protocol):
        def encode(self, texts: list[str]) -> list[tuple[list[int], bool]]:
            """Token ids of each text, and whether it was cut to the model's length."""

        def encode_spans(self, texts: list[str]) -> list[tuple[list[int], Spans, bool]]:
            """As `encode`, with the spans of the tokens."""

        def parts(self, texts: list[str]) -> list[tuple[list[int], Spans]]:
            """Token ids of each text, whole and without a frame, with their spans."""


LIBRARY = "tokenizers.abi3.so"


class HuggingFace:
    """Cuts texts to the model's length itself; for tasks that need them whole as well, we do that, by `frame`."""

    def __init__(self, library: str, path: str, spec: "Mapping[str, Any]") -> None:
        module = _imp.create_dynamic(ModuleSpec("tokenizers", None, origin=library))
        _imp.exec_dynamic(module)
        self._tokenizer = module.Tokenizer.from_file(path)
        self._encode = self._tokenizer.encode_batch
        self._frame = spec.get("frame")
        if self._frame is not None:
            self._tokenizer.no_truncation()
            self._room: int = spec["max_tokens"] - sum(map(len, self._frame["single"]))

    def encode(self, texts: list[str]) -> list[tuple[list[int], bool]]:
        if self._frame is not None:
            return [(ids, cut) for ids, _, cut in self.encode_spans(texts)]
        return [(encoding.ids, bool(encoding.overflowing)) for encoding in self._encode(texts)]

    def encode_spans(self, texts: list[str]) -> "list[tuple[list[int], Spans, bool]]":
        assert self._frame is not None
        start, end = self._frame["single"]
        before, after, room = [(0, 0)] * len(start), [(0, 0)] * len(end), self._room
        return [
            ([*start, *ids[:room], *end], [*before, *spans[:room], *after], len(ids) > room)
            for ids, spans in self.parts(texts)
        ]

    def parts(self, texts: list[str]) -> "list[tuple[list[int], Spans]]":
        encoded = self._encode(texts, add_special_tokens=False)
        return [(encoding.ids, encoding.offsets) for encoding in encoded]

    def decode(self, ids: list[int], plain: bool) -> str:
        """Tokens as a text, without the special ones if it shall be `plain`."""
        text: str = self._tokenizer.decode(ids, skip_special_tokens=plain)
        return text

    def token(self, name: str) -> int | None:
        found: int | None = self._tokenizer.token_to_id(name)
        return found
