"""Small models of every family that the press engine knows, as their configs initialise them."""

from pathlib import Path
from typing import Any

import torch
import transformers

BERT = {
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 30522,
}
ROBERTA = BERT | {"max_position_embeddings": 514, "pad_token_id": 1}
MODERN = BERT | {"local_attention": 16, "pad_token_id": 0, "bos_token_id": 101, "eos_token_id": 102}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "albert": ("Albert", BERT | {"embedding_size": 32, "pad_token_id": 0}),
    "bert": ("Bert", BERT),
    "camembert": ("Camembert", ROBERTA),
    "distilbert": (
        "DistilBert",
        {"dim": 64, "n_layers": 3, "n_heads": 4, "hidden_dim": 128, "vocab_size": 30522},
    ),
    "electra": ("Electra", BERT | {"embedding_size": 32}),
    "modernbert": ("ModernBert", MODERN | {"num_hidden_layers": 4, "cls_token_id": 101, "sep_token_id": 102}),
    "mpnet": ("MPNet", ROBERTA),
    "roberta": ("Roberta", ROBERTA),
    "xlm-roberta": ("XLMRoberta", ROBERTA),
}
CHANNELS = [3, 17, 40]


def make(
    family: str, minilm_folder: Path, folder: Path, *, kind: str = "Model", blown_up: bool = False, **more: Any
) -> Any:
    """A model of a family in `folder`, and itself; MiniLM's tokenizer serves them all."""
    name, settings = FAMILIES[family]
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**settings | more)
    model = getattr(transformers, f"{name}{kind}")(config).eval()
    if blown_up:
        with torch.no_grad():
            for module in model.modules():
                if isinstance(module, torch.nn.LayerNorm) and module.weight.numel() == 64:
                    module.weight[CHANNELS] *= 30
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(minilm_folder).save_pretrained(folder)
    return model
