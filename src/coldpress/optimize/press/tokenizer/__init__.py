"""Compiling a tokenizer.json into tables that the press engine runs: one file per kind of tokenizer."""

import json
from typing import Any

from coldpress.optimize.press.tokenizer.bpe import compile_bpe
from coldpress.optimize.press.tokenizer.frame import refuse
from coldpress.optimize.press.tokenizer.unigram import compile_unigram
from coldpress.optimize.press.tokenizer.wordpiece import compile_wordpiece

KINDS = {"BPE": compile_bpe, "Unigram": compile_unigram, "WordPiece": compile_wordpiece}


def compile_tokenizer(tokenizer_json: str) -> bytes:
    """The tables for a tokenizer.json; raises UnsupportedModel where they could not be exact."""
    spec: dict[str, Any] = json.loads(tokenizer_json)
    kind = spec["model"].get("type")
    if kind not in KINDS:
        raise refuse(f"its model is {kind}")
    from tokenizers import Tokenizer

    return KINDS[kind](spec, Tokenizer.from_str(tokenizer_json))
