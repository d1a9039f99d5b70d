"""What intake found, and what a person may ask of it."""

from dataclasses import dataclass, field
from pathlib import Path

POOLINGS = ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


@dataclass(frozen=True)
class Options:
    """A person's wishes; None means: as the model says."""

    name: str | None = None
    pooling: str | None = None
    max_tokens: int | None = None
    revision: str | None = None
    tokenizer: object | None = None


@dataclass(frozen=True)
class Dense:
    """A layer after pooling, as sentence-transformers saves it."""

    folder: Path
    inputs: int
    outputs: int
    #: as PyTorch's class is called, in small letters; "linear" for none
    activation: str


@dataclass(frozen=True)
class Source:
    """A model, described: all that later stages need to know of where it came from."""

    name: str
    origin: str
    kind: str
    task: str
    folder: Path
    architecture: str
    #: how token vectors become one vector, one or several of POOLINGS side by side; empty: they do not
    pooling: tuple[str, ...]
    normalize: bool
    hidden_size: int
    max_tokens: int
    lowercase: bool
    weights_bytes: int
    #: sha256 of every file that decides what the model answers
    files: dict[str, str] = field(repr=False)
    #: layers between pooling and normalization
    dense: tuple[Dense, ...] = ()

    @property
    def dimensions(self) -> int:
        return self.dense[-1].outputs if self.dense else self.hidden_size * max(1, len(self.pooling))
