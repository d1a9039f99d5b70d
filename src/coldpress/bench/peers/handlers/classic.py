"""The handler that people deploy today: torch and transformers, fp16, the model in a global."""

import os

import torch
from transformers import AutoModel, AutoTokenizer

_FOLDER = os.environ["MODEL_FOLDER"]
_POOLING = os.environ.get("POOLING", "mean")
_LONGEST = int(os.environ.get("MAX_TOKENS", "256"))
_NORMALIZE = os.environ.get("NORMALIZE", "1") == "1"
tokenizer = AutoTokenizer.from_pretrained(_FOLDER)
model = AutoModel.from_pretrained(_FOLDER, dtype=torch.float16).eval()


def lambda_handler(event: dict[str, object], context: object) -> dict[str, object]:
    inputs = tokenizer(event["text"], truncation=True, max_length=_LONGEST, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state.float()
    if _POOLING == "cls":
        pooled = hidden[:, 0]
    else:
        mask = inputs["attention_mask"].unsqueeze(-1)
        pooled = (hidden * mask).sum(1) / mask.sum(1)
    if _NORMALIZE:
        pooled = torch.nn.functional.normalize(pooled, dim=-1)
    return {"embeddings": pooled.tolist()}
