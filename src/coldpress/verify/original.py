"""The truth: the original model in PyTorch fp32, with its own tokenizer, on the same texts."""

import numpy as np
import torch
from numpy.typing import NDArray

from coldpress.intake.source import Source
from coldpress.optimize.encoder import load_encoder
from coldpress.optimize.tokenizer import load_tokenizer


def original_answers(source: Source, texts: list[str]) -> list[NDArray[np.float32]]:
    encoder = load_encoder(source)
    tokenizer = load_tokenizer(source)
    answers = []
    with torch.inference_mode():
        for text in texts:
            words = text.lower() if source.lowercase else text
            inputs = tokenizer(words, truncation=True, max_length=source.max_tokens, return_tensors="pt")
            vectors = encoder(inputs["input_ids"], inputs["attention_mask"])
            answers.append(vectors.numpy().astype(np.float32).reshape(-1))
    return answers
