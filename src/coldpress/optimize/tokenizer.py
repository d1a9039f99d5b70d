"""The model's tokenizer, as one tokenizer.json that the function reads: no padding, one truncation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import Source
from coldpress.samples import builtin_texts


@dataclass(frozen=True)
class Prepared:
    path: Path
    pad_id: int

    def calibration(self) -> list[dict[str, NDArray[np.int64]]]:
        """Model inputs for the built-in calibration texts: none of them is used to measure drift."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.path))
        texts = builtin_texts("coldpress.optimize", "calibration/texts.jsonl")
        encodings = tokenizer.encode_batch(texts)
        inputs = []
        for encoding in encodings:
            ids = np.array([encoding.ids], dtype=np.int64)
            inputs.append({"input_ids": ids, "attention_mask": np.ones_like(ids)})
        return inputs


def prepare_tokenizer(source: Source, path: Path) -> Prepared:
    tokenizer = load_tokenizer(source)
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.enable_truncation(source.max_tokens)
    if source.lowercase:
        from tokenizers import normalizers

        own = [backend.normalizer] if backend.normalizer is not None else []
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    path.write_text(backend.to_str(pretty=False), encoding="utf-8")
    return Prepared(path, int(tokenizer.pad_token_id or 0))


def load_tokenizer(source: Source) -> Any:
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
