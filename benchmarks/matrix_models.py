"""One small model of every architecture, with weights as its config initialises them: what matrix.py presses."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from coldpress.intake.demo import demo_folder

#: what coldpress.build is called with: the model, and the rest by name
Given = tuple[Any, dict[str, Any]]

NARROW = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128}
WORDS = NARROW | {"vocab_size": 30522}
ROBERTA = WORDS | {"max_position_embeddings": 514, "pad_token_id": 1}
MODERN = WORDS | {"local_attention": 16, "pad_token_id": 0, "bos_token_id": 101, "eos_token_id": 102}
SEEN = NARROW | {"image_size": 64, "patch_size": 16}
HEARD = NARROW | {"conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
CLIP_TEXT = WORDS | {"max_position_embeddings": 77, "eos_token_id": 102, "pad_token_id": 0, "bos_token_id": 101}


@dataclass(frozen=True)
class Entry:
    name: str
    kind: str
    make: Callable[[Path], Given]


def text(name: str, config: str, model: str, settings: dict[str, Any], **options: Any) -> Entry:
    """With MiniLM's tokenizer, whose vocabulary they all share."""

    def make(folder: Path) -> Given:
        _save(config, model, settings, folder)
        file = str(demo_folder("demo:minilm") / "tokenizer.json")
        # A class that says nothing of a family. Without padding, which families number differently.
        names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
        transformers.PreTrainedTokenizerFast(tokenizer_file=file, **names).save_pretrained(folder)
        return folder, {"max_tokens": 64, **options}

    return Entry(name, "text", make)


def picture(name: str, config: str, model: str, settings: dict[str, Any], processor: str, **sizes: Any) -> Entry:
    def make(folder: Path) -> Given:
        _save(config, model, settings, folder)
        getattr(transformers, f"{processor}Pil")(**sizes).save_pretrained(folder)
        return folder, {}

    return Entry(name, "picture", make)


def forward(name: str, kind: str, config: str, model: str, settings: dict[str, Any], *shape: int) -> Entry:
    """By the tensors that it is called with."""

    def make(folder: Path) -> Given:
        _save(config, model, settings, folder)
        return folder, {"task": "tensors", "inputs": torch.randn(shape)}

    return Entry(name, kind, make)


def module(name: str, make: Callable[[], tuple[nn.Module, Any]], **options: Any) -> Entry:
    def given(folder: Path) -> Given:
        torch.manual_seed(0)
        made, inputs = make()
        return made.eval(), {"inputs": inputs, **options}

    return Entry(name, "module", given)


def _save(config: str, model: str, settings: dict[str, Any], folder: Path) -> None:
    torch.manual_seed(0)
    made = getattr(transformers, model)(getattr(transformers, config)(**settings)).eval()
    made.save_pretrained(folder)


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.heads = nn.Linear(16, 32), nn.ModuleDict({"a": nn.Linear(32, 3), "b": nn.Linear(32, 5)})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        body = self.body(x).relu()
        return {name: head(body) for name, head in self.heads.items()}


class Deciding(nn.Module):
    """Which branch is taken is known only when it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = torch.cond(x.sum() > 0, self.left, self.right, (x,))
        return answer


class Last(nn.Module):
    def __init__(self, cell: type[nn.Module]) -> None:
        super().__init__()
        self.cell, self.head = cell(16, 32, 2, batch_first=True), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.head(self.cell(x)[0][:, -1])
        return answer


class WhisperEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        config = transformers.WhisperConfig(
            d_model=64,
            encoder_layers=2,
            encoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_layers=1,
            decoder_attention_heads=4,
            decoder_ffn_dim=128,
            max_source_positions=100,
            num_mel_bins=16,
        )
        self.encoder = transformers.WhisperModel(config).encoder

    def forward(self, input_features: Tensor) -> Tensor:
        answer: Tensor = self.encoder(input_features).last_hidden_state
        return answer


def convolutional() -> tuple[nn.Module, Tensor]:
    layers = (nn.Conv2d(3, 16, 3, 2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU())
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10)), torch.randn(
        2, 3, 64, 64
    )


def perceptron() -> tuple[nn.Module, Tensor]:
    return nn.Sequential(
        nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5)
    ), torch.randn(2, 16)


SQUARE = {"size": {"height": 64, "width": 64}}
ENTRIES = (
    text("BERT", "BertConfig", "BertModel", WORDS),
    text(
        "DistilBERT",
        "DistilBertConfig",
        "DistilBertModel",
        {"dim": 64, "n_layers": 3, "n_heads": 4, "hidden_dim": 128, "vocab_size": 30522},
    ),
    text("RoBERTa", "RobertaConfig", "RobertaModel", ROBERTA),
    text("XLM-R", "XLMRobertaConfig", "XLMRobertaModel", ROBERTA),
    text("CamemBERT", "CamembertConfig", "CamembertModel", ROBERTA),
    text("MPNet", "MPNetConfig", "MPNetModel", ROBERTA),
    text("ALBERT", "AlbertConfig", "AlbertModel", WORDS | {"embedding_size": 32, "pad_token_id": 0}),
    text("ELECTRA", "ElectraConfig", "ElectraModel", WORDS | {"embedding_size": 32}),
    text(
        "DeBERTa-v2",
        "DebertaV2Config",
        "DebertaV2Model",
        WORDS | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 32},
    ),
    text("ModernBERT", "ModernBertConfig", "ModernBertModel", MODERN | {"cls_token_id": 101, "sep_token_id": 102}),
    text("Longformer", "LongformerConfig", "LongformerModel", ROBERTA | {"attention_window": 16}),
    text(
        "BigBird", "BigBirdConfig", "BigBirdModel", WORDS | {"attention_type": "original_full", "pad_token_id": 0}
    ),
    text(
        "T5 encoder",
        "T5Config",
        "T5EncoderModel",
        {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 3, "num_heads": 4, "vocab_size": 30522},
    ),
    text(
        "GPT-2",
        "GPT2Config",
        "GPT2Model",
        {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 30522, "bos_token_id": 101, "eos_token_id": 102},
        pooling="lasttoken",
    ),
    text(
        "Llama",
        "LlamaConfig",
        "LlamaModel",
        WORDS | {"num_key_value_heads": 2, "bos_token_id": 101, "eos_token_id": 102},
        pooling="lasttoken",
    ),
    text("CLIP text", "CLIPTextConfig", "CLIPTextModel", CLIP_TEXT),
    picture(
        "CLIP vision",
        "CLIPVisionConfig",
        "CLIPVisionModel",
        SEEN,
        "CLIPImageProcessor",
        **{"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
    ),
    picture("SigLIP vision", "SiglipVisionConfig", "SiglipVisionModel", SEEN, "SiglipImageProcessor", **SQUARE),
    picture(
        "ViT", "ViTConfig", "ViTForImageClassification", SEEN | {"num_labels": 9}, "ViTImageProcessor", **SQUARE
    ),
    picture(
        "DeiT",
        "DeiTConfig",
        "DeiTForImageClassification",
        SEEN | {"num_labels": 9},
        "DeiTImageProcessor",
        **{"size": {"height": 72, "width": 72}, "crop_size": {"height": 64, "width": 64}},
    ),
    picture(
        "BEiT",
        "BeitConfig",
        "BeitForImageClassification",
        SEEN | {"num_labels": 9},
        "BeitImageProcessor",
        **SQUARE,
    ),
    picture(
        "Swin",
        "SwinConfig",
        "SwinForImageClassification",
        {
            "image_size": 64,
            "patch_size": 4,
            "embed_dim": 24,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        "ViTImageProcessor",
        **SQUARE,
    ),
    picture(
        "ConvNeXt",
        "ConvNextConfig",
        "ConvNextForImageClassification",
        {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1], "num_labels": 9},
        "ConvNextImageProcessor",
        size={"shortest_edge": 64},
    ),
    picture(
        "ResNet",
        "ResNetConfig",
        "ResNetForImageClassification",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [2, 2], "layer_type": "basic", "num_labels": 9},
        "ConvNextImageProcessor",
        size={"shortest_edge": 64},
    ),
    picture(
        "MobileNetV2",
        "MobileNetV2Config",
        "MobileNetV2ForImageClassification",
        {"depth_multiplier": 0.35, "image_size": 64, "num_labels": 9},
        "MobileNetV2ImageProcessor",
        size={"shortest_edge": 72},
        crop_size={"height": 64, "width": 64},
    ),
    picture(
        "EfficientNet",
        "EfficientNetConfig",
        "EfficientNetForImageClassification",
        {
            "image_size": 64,
            "width_coefficient": 0.35,
            "depth_coefficient": 0.35,
            "hidden_dim": 448,
            "num_labels": 9,
        },
        "EfficientNetImageProcessor",
        **SQUARE,
    ),
    picture(
        "MobileViT",
        "MobileViTConfig",
        "MobileViTForImageClassification",
        {
            "image_size": 64,
            "hidden_sizes": [24, 32, 40],
            "neck_hidden_sizes": [8, 16, 24, 24, 32, 40, 80],
            "num_labels": 9,
        },
        "MobileViTImageProcessor",
        size={"shortest_edge": 72},
        crop_size={"height": 64, "width": 64},
    ),
    picture(
        "DINOv2",
        "Dinov2Config",
        "Dinov2Model",
        SEEN | {"image_size": 56, "patch_size": 14, "mlp_ratio": 2},
        "BitImageProcessor",
        size={"shortest_edge": 64},
        crop_size={"height": 56, "width": 56},
    ),
    forward(
        "SegFormer",
        "picture",
        "SegformerConfig",
        "SegformerForSemanticSegmentation",
        {"hidden_sizes": [16, 32, 40, 64], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32, "num_labels": 5},
        *(1, 3, 64, 64),
    ),
    forward(
        "DETR",
        "picture",
        "DetrConfig",
        "DetrForObjectDetection",
        {
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 128,
            "decoder_ffn_dim": 128,
            "num_queries": 10,
            "use_timm_backbone": False,
            "use_pretrained_backbone": False,
            "backbone": None,
            "backbone_config": {
                "model_type": "resnet",
                "embedding_size": 16,
                "hidden_sizes": [16, 32],
                "depths": [1, 1],
                "layer_type": "basic",
                "out_features": ["stage2"],
            },
        },
        *(1, 3, 64, 64),
    ),
    forward("Wav2Vec2", "sound", "Wav2Vec2Config", "Wav2Vec2Model", HEARD, *(1, 8000)),
    forward("HuBERT", "sound", "HubertConfig", "HubertModel", HEARD, *(1, 8000)),
    forward(
        "AST",
        "sound",
        "ASTConfig",
        "ASTForAudioClassification",
        NARROW | {"max_length": 64, "num_mel_bins": 32, "num_labels": 9},
        *(1, 64, 32),
    ),
    module("Whisper encoder", lambda: (WhisperEncoder(), torch.randn(1, 16, 200))),
    module("MLP", perceptron),
    module("CNN", convolutional),
    module("LSTM", lambda: (Last(nn.LSTM), torch.randn(2, 12, 16)), dynamic={"x": (0, 1)}),
    module("GRU", lambda: (Last(nn.GRU), torch.randn(2, 12, 16)), dynamic={"x": (0, 1)}),
    module("a dict of outputs", lambda: (Named(), torch.randn(2, 16))),
    module("control flow", lambda: (Deciding(), torch.randn(2, 16)), dynamic={}),
)
