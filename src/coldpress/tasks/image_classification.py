"""Picture → labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor, nn

from coldpress.tasks import Answer, Request
from coldpress.tasks.image import ImageTask
from coldpress.tasks.original import load_pretrained


class Classifier(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        logits: Tensor = self.model(pixel_values=pixel_values).logits
        return logits


class ImageClassification(ImageTask):
    def _load(self) -> nn.Module:
        return Classifier(load_pretrained(self.source, "AutoModelForImageClassification"))

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        return [request | {"logits": True} for request in super().asked(spec)]

    def question(self, request: Request) -> Request:
        return {**request, "logits": True}

    def read(self, answer: Any) -> Answer:
        return (np.array(answer["logits"][0], dtype=np.float32),)

    def spec(self) -> dict[str, Any]:
        return {"labels": list(self.source.labels), "function": self.source.function, **super().spec()}

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"image": "base64 of a JPEG or PNG, or a list of them"},
            "outputs": {"labels": list(self.source.labels), "function": self.source.function},
        }
