"""What intake found, and what a person may ask of it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldpress.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor, nn

_COMMIT = re.compile(r"[0-9a-f]{40}")
POOLINGS = ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


@dataclass(frozen=True)
class Options:
    """A person's wishes; None means: as the model says."""

    name: str | None = None
    task: str | None = None
    pooling: str | None = None
    max_tokens: int | None = None
    revision: str | None = None
    tokenizer: object | None = None
    #: of a plain module: what it is called with, and which axes of it vary, by input
    inputs: Any = None
    dynamic: dict[str, tuple[int, ...]] | None = None
    #: package.module:factory of a person's own module
    module: str | None = None
    #: code of somebody else's that may run
    allow_torchscript: bool = False
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        if self.trust_remote_code and not _COMMIT.fullmatch(self.revision or ""):
            raise UsageError(
                "--trust-remote-code runs code from the hub, which may change any day: say which by --revision "
                f"and the 40 digits of a commit, not {self.revision!r}"
            )


@dataclass(frozen=True, kw_only=True)
class Source:
    """A model, described: all that later stages need to know of where it came from."""

    name: str
    origin: str
    kind: str
    task: str
    architecture: str
    weights_bytes: int
    #: code of somebody else's that was run to open it: torchscript, or remote code at a revision
    ran: str | None = None
    #: sha256 of every file that decides what the model answers; empty for a model that lives in memory
    files: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class Dense:
    """A layer after pooling, as sentence-transformers saves it."""

    folder: Path
    inputs: int
    outputs: int
    #: as PyTorch's class is called, in small letters; "linear" for none
    activation: str


@dataclass(frozen=True, kw_only=True)
class Folder(Source):
    """A folder as Hugging Face's tools write it."""

    folder: Path


@dataclass(frozen=True, kw_only=True)
class TextEncoder(Folder):
    """A model that reads text, and its tokenizer."""

    #: how token vectors become one vector, one or several of POOLINGS side by side; empty: they do not
    pooling: tuple[str, ...]
    normalize: bool
    hidden_size: int
    max_tokens: int
    lowercase: bool
    #: layers between pooling and normalization
    dense: tuple[Dense, ...] = ()
    #: what sentence-transformers puts before texts, by name, and the name of the one that is usual
    prompts: dict[str, str] = field(default_factory=dict)
    prompt: str | None = None
    #: kinds of parts that a text may have: two where a model reads pairs and is told which part is which
    token_types: int = 0
    vocabulary: int = 0
    #: what each number of the answer stands for, and what makes a score of it: softmax, sigmoid, none
    labels: tuple[str, ...] = ()
    function: str = "none"
    #: numbers of a last layer that lies among the model's own weights, beside pictures' vectors; 0 for none
    projection: int = 0
    #: the encoder's half of a model that also has a decoder
    encoder_only: bool = False

    @property
    def dimensions(self) -> int:
        if self.projection:
            return self.projection
        return self.dense[-1].outputs if self.dense else self.hidden_size * max(1, len(self.pooling))


@dataclass(frozen=True, kw_only=True)
class ImageModel(Folder):
    """A model that looks at pictures, and what its processor does to them."""

    #: what a picture is resized to before its middle is cut out: height and width, a shortest_edge, or nothing
    resize: dict[str, int]
    #: what the model reads: height, width
    size: tuple[int, int]
    #: by Pillow's numbers
    filter: int
    #: value = byte × scale + shift, for each channel; and which of red, green and blue it is
    scale: tuple[float, float, float]
    shift: tuple[float, float, float]
    channels: tuple[int, int, int]
    labels: tuple[str, ...] = ()
    function: str = "none"


@dataclass(frozen=True, kw_only=True)
class AudioModel(Folder):
    """A model that listens to sounds, and what its feature extractor does to them."""

    #: samples in a second
    rate: int
    #: what the model hears: the samples, or a spectrogram in the manner of Kaldi or of Whisper
    features: str
    labels: tuple[str, ...]
    function: str


@dataclass(frozen=True, kw_only=True)
class LiveModule(Source):
    """Any `nn.Module`: named tensors in, named tensors out."""

    module: "nn.Module" = field(repr=False)
    #: what it is called with, by the names of its forward's arguments
    example: "dict[str, Tensor]" = field(repr=False)
    #: axes of each input that may have any size
    dynamic: dict[str, tuple[int, ...]]
    #: the graph itself, where somebody exported it already
    graph: Path | None = None
