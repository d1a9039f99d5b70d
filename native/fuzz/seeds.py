"""Seeds for the fuzzers: tiny models as press files, and texts of many scripts.

What a fuzzer changes should matter. So models are narrow, and most carry no tokenizer: tables for all of Unicode
would be nine tenths of the file.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from coldpress.intake import Options, find
from coldpress.optimize.press import lower
from coldpress.optimize.press.calibrate import Calibration
from coldpress.optimize.press.file import PressFile
from coldpress.optimize.press.quantize import quantize
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.optimize.tokenizer import prepare_tokenizer
from coldpress.samples import builtin_texts

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    *("##ing", "##ed", "##s", "##able", "the", "un", "hello", "world", "word", "中", "é", ".", ",", "!", "?", "-"),
]
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 16,
    "vocab_size": len(PIECES),
    "initializer_range": 0.1,
    "pad_token_id": 1,
}
MODERN = {"cls_token_id": 2, "sep_token_id": 3}
#: family, what its config says otherwise, pooling
MODELS: list[tuple[str, dict[str, Any], str]] = [
    ("Bert", {}, "mean"),
    ("Bert", {"hidden_act": "relu", "num_attention_heads": 1}, "none"),
    ("Bert", {"hidden_act": "silu", "num_hidden_layers": 1, "max_position_embeddings": 80}, "max"),
    ("Roberta", {"hidden_act": "gelu_new"}, "lasttoken"),
    ("Albert", {"embedding_size": 16, "num_hidden_layers": 3}, "weightedmean"),
    ("MPNet", {"num_hidden_layers": 1}, "cls"),
    ("ModernBert", {"local_attention": 4, "bos_token_id": 2, "eos_token_id": 3} | MODERN, "mean_sqrt_len_tokens"),
]


def make(folder: Path) -> Path:
    """Seeds below `folder`, one folder per fuzzer; returns the model that the tokenizer's fuzzer uses."""
    loader, texts = folder / "loader", folder / "tokenizer"
    for target in (loader, texts):
        target.mkdir(parents=True, exist_ok=True)
    tokenizer = b""
    for at, (family, settings, pooling) in enumerate(MODELS):
        file, said = _lower(folder / "models" / str(at), family, settings, pooling)
        file.write(loader / f"{at}.press")
        if not tokenizer:
            tokenizer = file.tokenizer = compile_tokenizer(said)
            file.write(folder / "whole.press")
            file.write(loader / "tokenizer.press")
    for at, text in enumerate(builtin_texts("coldpress.verify", "samples/texts.jsonl")):
        (texts / str(at)).write_bytes(text.encode()[:200])
    return folder / "whole.press"


def _lower(folder: Path, family: str, settings: dict[str, Any], pooling: str) -> tuple[PressFile, str]:
    """A model with random weights, lowered, and its tokenizer.json."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**SMALL | settings)
    getattr(transformers, f"{family}Model")(config).save_pretrained(folder)
    vocabulary = {piece: at for at, piece in enumerate(PIECES)}
    transformers.BertTokenizerFast(vocab=vocabulary, do_lower_case=True).save_pretrained(folder)
    with find(folder, Options(pooling=pooling)) as source:
        prepared = prepare_tokenizer(source, folder / "prepared.json")
        file = lower(replace(source, normalize=pooling == "mean"))
        if family != "ModernBert":  # one stays in floats
            quantize(file, Calibration(file, prepared.calibration(), folder))
        return file, prepared.path.read_text(encoding="utf-8")
