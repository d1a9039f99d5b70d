"""Seeds for the fuzzers: tiny models as press files, and texts of many scripts.

What a fuzzer changes should matter. So models are narrow, most carry no tokenizer, and those for the loader that
do know few characters: tables for all of Unicode would be nine tenths of the file.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from coldpress.intake import Options, find
from coldpress.intake.source import ImageModel, TextEncoder
from coldpress.optimize.press import lower
from coldpress.optimize.press.calibrate import Calibration
from coldpress.optimize.press.early_pool import pool_early
from coldpress.optimize.press.file import PressFile
from coldpress.optimize.press.quantize import quantize
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.optimize.press.tokenizer.frame import Part
from coldpress.optimize.press.vision import lower_vision
from coldpress.samples import builtin_texts
from coldpress.tasks.tokenizer import prepare_tokenizer

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
    "vocab_size": 400,
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
#: pages of 256 characters that tokenizers for the loader know: Latin, marks, punctuation, ideographs, Hangul
KNOWN = [0x00, 0x01, 0x03, 0x20, 0x4E, 0xAC]
SEQUENCE = 1 << 21  # the entry of a character that becomes several


def make(folder: Path) -> None:
    """Seeds below `folder`, one folder per fuzzer, and in `models` what the tokenizer's fuzzer opens."""
    loader, texts = folder / "loader", folder / "tokenizer"
    for target in (loader, texts):
        target.mkdir(parents=True, exist_ok=True)
    for at, (family, settings, pooling) in enumerate(MODELS):
        file, said = _lower(folder / "lowered" / str(at), family, settings, pooling)
        file.write(loader / f"{at}.press")
        if at == 0:
            kinds = _trained() | {"wordpiece": said}
            added = {f"{kind}-added": _with_added(spec) for kind, spec in kinds.items()}
            _write_tokenizers(folder, file, kinds | added)
    _pictures(folder / "lowered" / "pictures").write(loader / "pictures.press")
    for at, text in enumerate(_texts()):
        (texts / str(at)).write_bytes(text.encode()[:200])


def _write_tokenizers(folder: Path, file: PressFile, kinds: dict[str, str]) -> None:
    (folder / "models").mkdir(exist_ok=True)
    for kind, spec in kinds.items():
        file.tokenizer = compile_tokenizer(spec)
        file.write(folder / "models" / f"{kind}.press")
        plain = json.loads(spec)
        if kind.startswith("unigram"):  # its normalizer has tables of its own
            plain["normalizer"] = None
        file.tokenizer = _few_characters(compile_tokenizer(json.dumps(plain)))
        file.write(folder / "loader" / f"{kind}.press")


#: what prose has not: marks in the wrong order, words without end, added tokens as they are and nearly so
ODD = [
    "a\u0301\u0323\u0330b o\u0308\u0304\u0328 \u1e69\u0323 \ud55c\u1112\u1161\u11ab",
    "a\u302e\U0001d165\u0301\U0001d16d\u302f e\U0001d16d\U0001d165 \u302f\U0001d165",
    "word" * 49,
    "<E>hello <E> <T> the<E>the [MASK] [mask] </s><s> Ｅ <T>",
    "",
]


def _texts() -> list[str]:
    return builtin_texts("coldpress.verify", "samples/texts.jsonl") + ODD


def _with_added(spec: str) -> str:
    """The same tokenizer with tokens that are looked for in every way there is."""
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_str(spec)
    tokenizer.add_tokens(
        [
            AddedToken("<E>", normalized=True),
            AddedToken("<T>", normalized=False, lstrip=True),
            AddedToken("the", normalized=True, single_word=True),
        ]
    )
    text: str = tokenizer.to_str()
    return text


def _trained() -> dict[str, str]:
    """Tokenizers of the other kinds, with a few hundred pieces each."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe = Tokenizer(models.BPE())
    bpe.normalizer = normalizers.NFC()
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        _texts(),
        trainers.BpeTrainer(
            vocab_size=380, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    bpe.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    unigram = Tokenizer(models.Unigram([("<unk>", 0.0), ("</s>", 0.0), *_scored()], unk_id=0))
    unigram.normalizer = normalizers.NFKC()
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return {"bpe": bpe.to_str(), "unigram": unigram.to_str()}


def _scored() -> list[tuple[str, float]]:
    pieces = [
        "▁",
        *LETTERS,
        *(f"▁{piece}" for piece in LETTERS),
        "▁the",
        "▁hello",
        "▁word",
        "ing",
        "ed",
        "é",
        "中",
    ]
    return [(piece, -1.0 - at % 7) for at, piece in enumerate(pieces)]


def _few_characters(block: bytes) -> bytes:
    """The tables with few pages of characters; all others share the first of them."""
    words = np.frombuffer(block, np.uint32, 56)  # native/tokenizer.h: eight, then place and count of each part
    places = words[8:].reshape(-1, 2).astype(int)
    used = sorted((at, part) for part, (at, _) in enumerate(places) if at)
    ends = [at for at, _ in used[1:]] + [len(block)]
    parts = {part: block[at:end] for (at, part), end in zip(used, ends, strict=True)}
    if places[Part.PAGES][1] and places[Part.ENTRIES][1]:
        pages = np.frombuffer(parts[Part.PAGES], np.uint16)
        entries = np.frombuffer(parts[Part.ENTRIES], np.uint32).reshape(-1, 256)[pages[KNOWN]].astype(int)
        known = np.frombuffer(parts.get(Part.SEQUENCES, b""), np.uint32).astype(int)
        sequences: list[int] = [0]
        for at in np.argwhere(entries & SEQUENCE):
            old = entries[tuple(at)] & (SEQUENCE - 1)
            entries[tuple(at)] += len(sequences) - old
            sequences += known[old : old + 1 + known[old]].tolist()
        few = np.zeros(0x1100, np.uint16)
        few[KNOWN] = range(len(KNOWN))
        for part, table in (
            (Part.PAGES, few),
            (Part.ENTRIES, entries.astype(np.uint32)),
            (Part.SEQUENCES, np.array(sequences, np.uint32)),
        ):
            parts[part], places[part][1] = table.tobytes(), table.size
    body, start = b"", used[0][0]
    for number, data in sorted(parts.items()):
        places[number][0] = start + len(body)
        body += data + bytes(-len(data) % 64)
    header = words[:8].tobytes() + places.astype(np.uint32).tobytes()
    return header.ljust(start, b"\0") + body


def _pictures(folder: Path) -> PressFile:
    """A model that looks at pictures, four patches each."""
    import torch
    import transformers

    folder.mkdir(parents=True)
    torch.manual_seed(0)
    sizes = {key: SMALL[key] for key in ("hidden_size", "num_attention_heads", "intermediate_size")}
    config = transformers.ViTConfig(**sizes, num_hidden_layers=1, image_size=32, patch_size=16, num_labels=3)
    source = ImageModel(
        name="vit",
        origin="vit",
        kind="seed",
        task="image-classification",
        architecture="vit",
        weights_bytes=0,
        files={},
        folder=folder,
        resize={},
        size=(32, 32),
        filter=2,
        scale=(1 / 128, 1 / 128, 1 / 128),
        shift=(-1.0, -1.0, -1.0),
        channels=(0, 1, 2),
    )
    file = lower_vision(source, transformers.ViTForImageClassification(config).eval(), pooled=False)
    pixels = np.random.default_rng(0).integers(0, 256, 4 * 3 * 32 * 32, dtype=np.uint8).tobytes()
    quantize(file, Calibration(file, pixels, folder))
    pool_early(file)
    return file


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
        assert isinstance(source, TextEncoder)
        prepared = prepare_tokenizer(
            replace(source, vocabulary=0)
        )  # its few words are no model's whole vocabulary
        file = lower(replace(source, normalize=pooling == "mean"))
        if family != "ModernBert":  # one stays in floats
            quantize(file, Calibration(file, prepared.calibration(), folder))
            pool_early(file)
        return file, prepared.json()
