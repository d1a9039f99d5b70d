"""The model's tokenizer, as one tokenizer.json that the function reads: no padding, one truncation."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import TextEncoder
from coldpress.samples import builtin_texts


@dataclass(frozen=True)
class Frame:
    """The special tokens that a model wants around a text, and around the two of a pair."""

    single: tuple[list[int], list[int]]
    #: before, between and after
    pair: tuple[list[int], list[int], list[int]]
    #: which part tokens belong to: those before, the first text's, those between, the second text's, those after
    types: tuple[int, int, int, int, int]

    @property
    def typed(self) -> bool:
        return any(self.types)

    @property
    def pair_tokens(self) -> int:
        return sum(map(len, self.pair))

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Prepared:
    backend: Any

    def write(self, path: Path) -> Path:
        path.write_text(self.json(), encoding="utf-8")
        return path

    def json(self) -> str:
        text: str = self.backend.to_str(pretty=False)
        return text

    def calibration(self, pairs: bool = False) -> list[tuple[list[int], list[int]]]:
        """Token ids and types of the built-in calibration texts: none of them is used to measure drift."""
        texts = builtin_texts("coldpress.optimize", "calibration/texts.jsonl")
        asked = [*zip(texts, texts[1:] + texts[:1], strict=True)] if pairs else texts
        return [(encoding.ids, encoding.type_ids) for encoding in self.backend.encode_batch(asked)]

    @cached_property
    def frame(self) -> Frame:
        single = self.backend.encode("a")
        own = [at for at, special in enumerate(single.special_tokens_mask) if not special]
        pair = self.backend.encode("a", "b")
        first = [at for at, part in enumerate(pair.sequence_ids) if part == 0]
        second = [at for at, part in enumerate(pair.sequence_ids) if part == 1]
        ids, types = pair.ids, pair.type_ids
        groups = (ids[: first[0]], ids[first[-1] + 1 : second[0]], ids[second[-1] + 1 :])
        kinds = {
            0: types[: first[0]],
            1: [types[first[0]]],
            2: types[first[-1] + 1 : second[0]],
            3: [types[second[0]]],
            4: types[second[-1] + 1 :],
        }
        return Frame(
            (single.ids[: own[0]], single.ids[own[-1] + 1 :]),
            groups,
            tuple(kinds[part][0] if kinds[part] else 0 for part in range(5)),  # type: ignore[arg-type]  # five
        )

    def continuations(self) -> bytes | None:
        """A bit for each token, set where it goes on with a word; None where the vocabulary does not say."""
        model = json.loads(self.json())["model"]
        prefix = model.get("continuing_subword_prefix")
        if model.get("type") != "WordPiece" or not prefix:
            return None
        bits = bytearray(-(-len(model["vocab"]) // 8))
        for token, number in model["vocab"].items():
            if token.startswith(prefix) and token != prefix:
                bits[number >> 3] |= 1 << (number & 7)
        return bytes(bits)

    def unknown(self) -> int | None:
        """The token that stands for what the vocabulary has no other for."""
        model = json.loads(self.json())["model"]
        if isinstance(model.get("unk_id"), int):
            return int(model["unk_id"])
        found: int | None = self.backend.token_to_id(model["unk_token"]) if model.get("unk_token") else None
        return found

    def special(self, name: str, folder: Path) -> tuple[int, str] | None:
        """A special token by the name that the folder's tokenizer_config.json has for it: its number, its text."""
        path = folder / "tokenizer_config.json"
        said = json.loads(path.read_text(encoding="utf-8")).get(name) if path.is_file() else None
        text = said.get("content") if isinstance(said, dict) else said
        token = self.backend.token_to_id(text) if isinstance(text, str) else None
        return None if token is None else (token, str(text))


#: how much of a vocabulary a tokenizer uses at least
MOST_FILLING = 0.97
#: what a tokenizer is read from, one of these at least
FILES = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"),
    "spm.model",
)
#: classes of transformers that use a folder's tokenizer.json as it is: no need to import them for it
_PLAIN = ("Bert", "DistilBert", "Electra", "PreTrained")


def prepare_tokenizer(source: TextEncoder) -> Prepared:
    backend = _plain_backend(source.folder) or load_tokenizer(source).backend_tokenizer
    _fits(backend, source)
    backend.no_padding()
    backend.enable_truncation(source.max_tokens)
    if source.lowercase:
        from tokenizers import normalizers

        own = [backend.normalizer] if backend.normalizer is not None else []
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return Prepared(backend)


def _fits(backend: Any, source: TextEncoder) -> None:
    """A tokenizer of another model's gives numbers that mean something else here, or nothing at all."""
    count = 1 + max(backend.get_vocab(with_added_tokens=True).values(), default=0)
    # Models may know a few more than there are: their tables are filled up to round numbers.
    if source.vocabulary and not MOST_FILLING * source.vocabulary <= count <= source.vocabulary:
        raise UnsupportedModel(
            f"the tokenizer in {source.folder} is not this model's: it has {count} tokens, and the model's "
            f"vocabulary {source.vocabulary}"
        )


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

    if not any((source.folder / name).is_file() for name in FILES):  # it would make one up, with no words in it
        raise UnsupportedModel(
            f"{source.folder} has no tokenizer ({', '.join(FILES)}): save it there, "
            "tokenizer.save_pretrained(folder)"
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.folder, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UnsupportedModel(f"transformers cannot open the tokenizer in {source.folder}: {error}") from error
    if not getattr(tokenizer, "is_fast", False):
        raise UnsupportedModel(
            f"the tokenizer in {source.folder} ({type(tokenizer).__name__}) has no tokenizer.json form"
        )
    return tokenizer
