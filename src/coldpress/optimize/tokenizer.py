"""The model's tokenizer, as one tokenizer.json that the function reads: no padding, one truncation."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import TextEncoder
from coldpress.samples import builtin_texts


@dataclass(frozen=True)
class Prepared:
    backend: Any

    def write(self, path: Path) -> Path:
        path.write_text(self.json(), encoding="utf-8")
        return path

    def json(self) -> str:
        text: str = self.backend.to_str(pretty=False)
        return text

    def calibration(self) -> list[list[int]]:
        """Token ids of the built-in calibration texts: none of them is used to measure drift."""
        texts = builtin_texts("coldpress.optimize", "calibration/texts.jsonl")
        return [encoding.ids for encoding in self.backend.encode_batch(texts)]


#: classes of transformers that use a folder's tokenizer.json as it is: no need to import them for it
_PLAIN = ("Bert", "DistilBert", "Electra", "PreTrained")


def prepare_tokenizer(source: TextEncoder) -> Prepared:
    backend = _plain_backend(source.folder) or load_tokenizer(source).backend_tokenizer
    backend.no_padding()
    backend.enable_truncation(source.max_tokens)
    if source.lowercase:
        from tokenizers import normalizers

        own = [backend.normalizer] if backend.normalizer is not None else []
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return Prepared(backend)


def _plain_backend(folder: Path) -> Any:
    """The tokenizer straight from its file; None where transformers has a say in it."""
    file, config = folder / "tokenizer.json", folder / "tokenizer_config.json"
    if not file.is_file() or not config.is_file():
        return None
    said = json.loads(config.read_text(encoding="utf-8"))
    kind = str(said.get("tokenizer_class", "")).removesuffix("Fast").removesuffix("Tokenizer")
    if kind not in _PLAIN:
        return None
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception:  # noqa: BLE001 - whatever it is, transformers says it better
        return None


def load_tokenizer(source: TextEncoder) -> Any:
    """The tokenizer as transformers sees it, which is what the original model is used with."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source.folder, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UnsupportedModel(f"transformers cannot open the tokenizer in {source.folder}: {error}") from error
    if not getattr(tokenizer, "is_fast", False):
        raise UnsupportedModel(
            f"the tokenizer in {source.folder} ({type(tokenizer).__name__}) has no tokenizer.json form"
        )
    return tokenizer
