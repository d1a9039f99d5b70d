"""Picture → embedding."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from torch import Tensor, nn

from coldpress.intake.files import read_config
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


class ClipPictures(nn.Module):
    """The half of CLIP that looks, up to where its vectors stand beside those of texts."""

    def __init__(self, both: Any) -> None:
        super().__init__()
        self.vision_model, self.visual_projection = both.vision_model, both.visual_projection
        self.config = both.config

    def forward(self, pixel_values: Tensor) -> Any:
        pooled = self.vision_model(pixel_values=pixel_values).pooler_output
        return SimpleNamespace(image_embeds=self.visual_projection(pooled))


class ImageEmbeddings(ImageTask):
    def _load(self) -> nn.Module:
        if self.source.architecture == "clip":
            return Tower(ClipPictures(load_pretrained(self.source, "CLIPModel")), pooled=False)
        name = "SiglipVisionModel" if self.source.architecture == "siglip" else self._class()
        model = load_pretrained(self.source, name, optional=("pooler",))
        return Tower(model, pooled="pooler" not in model.made_up)

    def _class(self) -> str:
        """The model's own class: the usual one of its family may have other layers at its end."""
        named = read_config(self.source.folder).get("architectures")
        own = str(named[0]) if isinstance(named, list) and named else ""
        return own if own.endswith("WithProjection") else "AutoModel"

    def question(self, request: Request) -> Request:
        return request

    def read(self, answer: Any) -> Answer:
        return (np.array(answer["embeddings"][0], dtype=np.float32),)

    def describe(self) -> dict[str, Any]:
        return {
            "inputs": {"image": "base64 of a JPEG or PNG, or a list of them"},
            "outputs": {"embeddings": {"dimensions": self._dimensions}},
        }
