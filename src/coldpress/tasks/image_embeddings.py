"""Picture → embedding."""

from typing import Any

import numpy as np
from torch import Tensor, nn

from coldpress.tasks import Answer, Request
from coldpress.tasks.image import ImageTask
from coldpress.tasks.original import load_pretrained


class Tower(nn.Module):
    """One vector per picture: as projected beside texts, else as the model pools it, else its first part's."""

    def __init__(self, model: Any, pooled: bool) -> None:
        super().__init__()
        self.model = model
        self.pooled = pooled

    def forward(self, pixel_values: Tensor) -> Tensor:
        answer = self.model(pixel_values=pixel_values)
        vector: Tensor
        if getattr(answer, "image_embeds", None) is not None:
            vector = answer.image_embeds
        elif self.pooled and getattr(answer, "pooler_output", None) is not None:
            vector = answer.pooler_output.flatten(1)
        else:
            vector = answer.last_hidden_state[:, 0]
        return vector


class ImageEmbeddings(ImageTask):
    def _load(self) -> nn.Module:
        two_towers = self.source.architecture in ("clip", "siglip")
        name = {"clip": "CLIPVisionModelWithProjection", "siglip": "SiglipVisionModel"}
        model = load_pretrained(
            self.source, name[self.source.architecture] if two_towers else "AutoModel", optional=("pooler",)
        )
        return Tower(model, pooled="pooler" not in model.made_up)

    def question(self, request: Request) -> Request:
        return request

    def read(self, answer: Any) -> Answer:
        return (np.array(answer["embeddings"][0], dtype=np.float32),)

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"image": "base64 of a JPEG or PNG, or a list of them"},
            "outputs": {"embeddings": {"dimensions": self._dimensions}},
        }
