"""What an expert writes today: onnxruntime and tokenizers, int8, threads and truncation set by hand."""

import os

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

_FOLDER = os.environ["MODEL_FOLDER"]
tokenizer = Tokenizer.from_file(f"{_FOLDER}/tokenizer.json")
tokenizer.enable_padding()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(os.environ["THREADS"])
session = onnxruntime.InferenceSession(f"{_FOLDER}/model.onnx", options, providers=["CPUExecutionProvider"])


def lambda_handler(event: dict[str, object], context: object) -> dict[str, object]:
    text = event["text"]
    encoded = tokenizer.encode_batch(text if isinstance(text, list) else [text])
    ids = np.array([one.ids for one in encoded], dtype=np.int64)
    mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
    (vectors,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
    return {"embeddings": vectors.tolist()}
