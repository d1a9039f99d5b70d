"""The handler that people deploy today: torch and transformers, fp16, the model in a global."""

import os

import torch
from transformers import AutoModel, AutoTokenizer

_FOLDER = os.environ["MODEL_FOLDER"]
tokenizer = AutoTokenizer.from_pretrained(_FOLDER)
model = AutoModel.from_pretrained(_FOLDER, dtype=torch.float16).eval()


def lambda_handler(event: dict[str, object], context: object) -> dict[str, object]:
    inputs = tokenizer(event["text"], truncation=True, max_length=256, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state.float()
    mask = inputs["attention_mask"].unsqueeze(-1)
    pooled = (hidden * mask).sum(1) / mask.sum(1)
    return {"embeddings": torch.nn.functional.normalize(pooled, dim=-1).tolist()}
