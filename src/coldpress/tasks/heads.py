"""Models with a head, as transformers has them: token ids in, logits out."""

from typing import Any

from torch import Tensor, nn

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import TextEncoder
from coldpress.tasks.original import load_pretrained


class Logits(nn.Module):
    """Per text or per token; where a model answers with a start and an end, they stand side by side."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        import torch

        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        answer: Any = self.model(input_ids=input_ids, **types)
        if "start_logits" in answer:
            return torch.stack([answer.start_logits, answer.end_logits], dim=-1)
        logits: Tensor = answer.logits
        return logits


class Gaps(nn.Module):
    """Logits over the vocabulary at some places of each text, and at no others: they are most of the work."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        decoder = model.get_output_embeddings()
        if not isinstance(decoder, nn.Linear):
            raise UnsupportedModel(f"{type(model).__name__} has no layer from vectors to the vocabulary")
        self.chosen = _Chosen(decoder)
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if child is decoder:
                    setattr(module, name, self.chosen)

    def forward(self, input_ids: Tensor, positions: Tensor) -> Tensor:
        self.chosen.positions = positions
        logits: Tensor = self.model(input_ids=input_ids).logits
        return logits


class _Chosen(nn.Module):
    positions: Tensor

    def __init__(self, decoder: nn.Linear) -> None:
        super().__init__()
        self.decoder = decoder
        self.bias = decoder.bias  # some models look for it here

    def forward(self, hidden: Tensor) -> Tensor:
        places = self.positions.unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
        logits: Tensor = self.decoder(hidden.gather(1, places))
        return logits


def load_logits(source: TextEncoder, auto: str) -> Logits:
    return Logits(load_pretrained(source, auto)).eval()
