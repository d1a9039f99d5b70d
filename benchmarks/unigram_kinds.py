"""Unigram tokenizers as the well known models have them, trained with SentencePiece and its own charsmap."""

import importlib
import io
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

Texts = tuple[str, ...]
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


class Trained(NamedTuple):
    pieces: list[tuple[str, float]]
    charsmap: bytes


@cache
def train(texts: Texts, vocabulary: int, *, fallback: bool = False) -> Trained:
    """SentencePiece's pieces, the first three of them special, and the charsmap that it puts into each model."""
    model = io.BytesIO()
    importlib.import_module("sentencepiece").SentencePieceTrainer.train(
        sentence_iterator=iter(text.replace("\n", " ") for text in texts),
        model_writer=model,
        vocab_size=vocabulary,
        byte_fallback=fallback,
        character_coverage=0.999,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    pieces, charsmap = [], b""
    for number, value in _fields(model.getvalue()):
        if number == 1:
            piece = dict(_fields(value))
            pieces.append((piece[1].decode(), struct.unpack("<f", piece.get(2, bytes(4)))[0]))
        elif number == 3:
            charsmap = dict(_fields(value))[2]
    return Trained(pieces, charsmap)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message, by their numbers."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            at += 1
            value |= (message[at - 1] & 127) << shift
            shift += 7
            if message[at - 1] < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or number()
        yield key >> 3, message[at : at + size]
        at += size


def _framed(vocab: list[tuple[str, float]], *, fallback: bool = False) -> Any:
    """With XLM-R's special tokens around a text."""
    from tokenizers import AddedToken, Tokenizer, models

    ids = {text: number for number, (text, _) in enumerate(vocab)}
    tokenizer = Tokenizer(models.Unigram(vocab, ids["<unk>"], byte_fallback=fallback))
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in _SPECIAL])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    return _between(tokenizer)


def _between(tokenizer: Any) -> Any:
    """A tokenizer that puts each text between two special tokens."""
    from tokenizers import processors

    first, last = (tokenizer.token_to_id(text) for text in ("<s>", "</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", first), ("</s>", last)]
    )
    return tokenizer


def _fairseq(trained: Trained, *, fallback: bool = False) -> Any:
    """XLM-R's order: special tokens first, SentencePiece's own left out, the mask last."""
    special = [(text, 0.0) for text in _SPECIAL]
    return _framed([*special, *trained.pieces[3:], ("<mask>", 0.0)], fallback=fallback)


def xlm_roberta(texts: Texts, vocabulary: int) -> Any:
    """XLM-R, and paraphrase-multilingual: texts are split at white space before spaces become visible."""
    from tokenizers import normalizers, pre_tokenizers

    trained = train(texts, vocabulary)
    tokenizer = _fairseq(trained)
    tokenizer.normalizer = normalizers.Precompiled(trained.charsmap)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    return tokenizer


def multilingual_e5(texts: Texts, vocabulary: int) -> Any:
    """As transformers converts SentencePiece's models; with tokens that are looked for in the normalized text."""
    from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers

    trained = train(texts, vocabulary)
    tokenizer = _fairseq(trained)
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(trained.charsmap),
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), "▁"),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    more = [
        AddedToken("query: "),
        AddedToken("①x", rstrip=True, lstrip=True),
        AddedToken("über", single_word=True),
    ]
    tokenizer.add_tokens(more)
    return tokenizer


def albert(texts: Texts, vocabulary: int) -> Any:
    """Letters without accents and capitals; all but numbers a hundred less likely than they are."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    trained = train(texts, vocabulary)
    special = [("<pad>", 0.0), ("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("<mask>", 0.0)]
    tokenizer = _framed([*special, *((text, score - 100) for text, score in trained.pieces[3:])])
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Precompiled(trained.charsmap),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def camembert(texts: Texts, vocabulary: int) -> Any:
    """Names in its vocabulary that begin as the unknown token does; a space only before the first word."""
    from tokenizers import normalizers, pre_tokenizers

    trained = train(texts, vocabulary)
    special = [("<s>NOTUSED", 0.0), ("<pad>", 0.0), ("</s>NOTUSED", 0.0), ("<unk>", 0.0), ("<unk>NOTUSED", -100.0)]
    tokenizer = _framed([*special, *trained.pieces[1:], ("<mask>", 0.0)])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Precompiled(trained.charsmap)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer


def deberta(texts: Texts, vocabulary: int) -> Any:
    """No charsmap, but NFC; white space in a row becomes one space."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    tokenizer = _fairseq(train(texts, vocabulary))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
            normalizers.NFC(),
            normalizers.Strip(left=False, right=True),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="first")])
    return tokenizer


def byte_fallback(texts: Texts, vocabulary: int) -> Any:
    """Bytes for what no piece covers; spaces made visible by the normalizer."""
    from tokenizers import normalizers

    trained = train(texts, vocabulary, fallback=True)
    tokenizer = _fairseq(trained, fallback=True)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(trained.charsmap), normalizers.Replace(" ", "▁"), normalizers.Prepend("▁")]
    )
    return tokenizer


def nfkc(texts: Texts, vocabulary: int) -> Any:
    """Trained by `tokenizers` itself, with the normalizers that it gives to Unigram."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary,
        unk_token="<unk>",
        special_tokens=[*_SPECIAL],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _between(tokenizer)


#: What makes a tokenizer of each kind, of some texts and with about as many pieces as wanted.
MAKERS: dict[str, Callable[[Texts, int], Any]] = {
    "xlm_roberta": xlm_roberta,
    "multilingual_e5": multilingual_e5,
    "albert": albert,
    "camembert": camembert,
    "deberta": deberta,
    "byte_fallback": byte_fallback,
    "nfkc": nfkc,
}
