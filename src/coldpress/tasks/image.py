"""What all tasks that look at pictures have in common: a processor, pictures to ask with, pixels in the graph."""

import io
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coldpress.errors import UsageError
from coldpress.intake.image import load_processor
from coldpress.intake.source import ImageModel
from coldpress.pictures import made_up, png
from coldpress.tasks import Answer, Carried, Feed, Request, Signature

INPUT = "pixels"
SAMPLES, CALIBRATION = 48, 32
#: What one request may bring, beside Lambda's own limits.
LIMITS = {"images": 64, "pixels": 50_000_000, "batch": 4}


class Pixels(nn.Module):
    """The model with the end of its processor before it: bytes as they are decoded go in, height × width × RGB."""

    scale: Tensor
    shift: Tensor

    def __init__(self, model: nn.Module, source: ImageModel) -> None:
        super().__init__()
        self.model = model
        self.channels = list(source.channels)
        self.register_buffer("scale", torch.tensor(source.scale).view(1, 3, 1, 1))
        self.register_buffer("shift", torch.tensor(source.shift).view(1, 3, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        values = pixels.permute(0, 3, 1, 2).float()
        if self.channels != [0, 1, 2]:
            values = values[:, self.channels]
        answer: Tensor = self.model(values * self.scale + self.shift)
        return answer


class ImageTask(ABC):
    native = ("pictures",)

    def __init__(self, source: ImageModel) -> None:
        self.source = source

    @abstractmethod
    def _load(self) -> nn.Module:
        """The model behind pixel values: one vector per picture."""

    def lowered(self) -> tuple[Any, bool]:
        """For press: transformers' own model, and whether its pooler is part of the answer."""
        model: Any = self._model
        return model.model, getattr(model, "pooled", False)

    @cached_property
    def _model(self) -> nn.Module:
        return self._load().eval()

    def original(self) -> nn.Module:
        return Pixels(self._model, self.source).eval()

    def signature(self) -> Signature:
        example = torch.zeros((2, *self.source.size, 3), dtype=torch.uint8)
        return Signature((INPUT,), ("logits",), (example,), ((0,),), ({0: torch.export.Dim("batch")},))

    def samples(self) -> list[Request]:
        return self.asked({})

    @staticmethod
    def request(data: bytes) -> Request:
        return {"image": b64encode(data).decode()}

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        return [cls.request(png(picture)) for picture in made_up(SAMPLES, seed=1)]

    def truth(self, requests: list[Request]) -> list[Answer]:
        """As the original is used: opened by Pillow, made ready by its own processor."""
        from PIL import Image, ImageOps

        processor = load_processor(self.source.folder)
        answers: list[Answer] = []
        with torch.inference_mode():
            for request in requests:
                data = request.get("image")
                if not isinstance(data, str):
                    raise UsageError(f'a sample of this task is {{"image": "base64"}}, not {str(request)[:80]}')
                picture: Any = ImageOps.exif_transpose(Image.open(io.BytesIO(b64decode(data))))
                values = processor(images=picture.convert("RGB"), return_tensors="pt")["pixel_values"]
                answers.append((self._model(values).numpy().astype(np.float32).reshape(-1),))
        return answers

    def timed(self) -> dict[str, Request]:
        (picture,) = made_up(1, seed=2)
        one = self.request(png(picture))
        return {"one": one, "four": one | {"image": [one["image"]] * 4}}

    def calibration(self) -> list[Feed]:
        return [{INPUT: self._fitted(picture)[None]} for picture in made_up(CALIBRATION, seed=3)]

    def _fitted(self, picture: Any) -> Any:
        """Roughly as the processor would: calibration needs no exactness."""
        height, width = self.source.size
        rows = np.arange(height) * picture.shape[0] // height
        columns = np.arange(width) * picture.shape[1] // width
        return np.ascontiguousarray(picture[rows][:, columns])

    def probes(self) -> list[Feed]:
        few = self.calibration()[:4]
        return [*few, {INPUT: np.concatenate([feed[INPUT] for feed in few])}]

    def carry(self, work: Path) -> Carried:
        return Carried((), {})

    @cached_property
    def _dimensions(self) -> int:
        with torch.inference_mode():
            return int(self.original()(self.signature().example[0]).shape[-1])

    def spec(self) -> dict[str, Any]:
        source = self.source
        return {
            "dimensions": self._dimensions,
            "resize": source.resize,
            "filter": source.filter,
            "size": list(source.size),
            "limits": LIMITS,
        }
