"""Tokenizers of every kind that is compiled: a real one where it is at hand, else one that is trained on prose."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import unigram_kinds
from coldpress.intake.demo import demo_folder
from coldpress.samples import builtin_texts
from prose import NoProse, paragraphs

TRAINED = Path(__file__).parent.parent / ".cache" / "tokenizers"
VOCABULARY = 12_000


def wordpiece() -> Any:
    """MiniLM's own."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str((demo_folder("demo:minilm") / "tokenizer.json").read_text("utf-8"))
    tokenizer.no_padding()
    return tokenizer


def roberta() -> Any:
    from tokenizers import AddedToken, processors

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = _bpe(None, [AddedToken(text, normalized=True, special=True) for text in special])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def modernbert() -> Any:
    """NFC, and added tokens that are looked for after it: runs of spaces and many more."""
    from tokenizers import AddedToken, normalizers, processors

    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    tokenizer = _bpe(normalizers.NFC(), [AddedToken(text, normalized=False, special=True) for text in special])
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, normalized=False)])
    more = ["|||IP_ADDRESS|||", *(" " * count for count in range(2, 25)), *(f"[unused{n}]" for n in range(83))]
    tokenizer.add_tokens([AddedToken(text, normalized=True) for text in more])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def _of_prose(make: Callable[[tuple[str, ...], int], Any]) -> Any:
    return make(tuple(training_texts()), VOCABULARY)


#: What makes a tokenizer of each kind.
KINDS: dict[str, Callable[[], Any]] = {"wordpiece": wordpiece, "roberta": roberta, "modernbert": modernbert}
KINDS |= {name: partial(_of_prose, make) for name, make in unigram_kinds.MAKERS.items()}


def training_texts() -> Iterable[str]:
    """A quarter of the prose; the built-in samples where there is none."""
    try:
        return paragraphs()[::4]
    except NoProse:
        return builtin_texts("coldpress.verify", "samples/texts.jsonl")


def trained(kind: str) -> Any:
    """A tokenizer of a kind, made once."""
    from tokenizers import Tokenizer

    path = TRAINED / f"{kind}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(KINDS[kind]().to_str(), "utf-8")
    return Tokenizer.from_file(str(path))


def _bpe(normalizer: Any, special: list[Any]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(training_texts(), trainer)
    return tokenizer
