"""What comes after the last layer: pooling with dense layers, or a classifier of texts or of tokens."""

from dataclasses import dataclass
from typing import Any

from coldpress.errors import UnsupportedModel
from coldpress.intake.source import TextEncoder
from coldpress.optimize.press.file import NORMALIZE, POOL, POOLS, Op
from coldpress.optimize.press.layers import ACTIVATIONS, Encoder, named_linear, norm, refuse
from coldpress.optimize.press.weights import Weights, read_config


@dataclass(frozen=True)
class Classifier:
    """How a family classifies: a dense layer on the first token's vector, then the labels."""

    dense: str
    activation: str
    labels: str
    #: also before the labels of single tokens, with this norm after it
    norm: str | None = None


_ROBERTA = Classifier("classifier.dense", "tanh", "classifier.out_proj")
CLASSIFIERS = {
    "albert": Classifier("pooler", "tanh", "classifier"),
    "bert": Classifier("pooler.dense", "tanh", "classifier"),
    "camembert": _ROBERTA,
    "distilbert": Classifier("pre_classifier", "relu", "classifier"),
    "electra": Classifier("classifier.dense", "gelu", "classifier.out_proj"),
    "modernbert": Classifier("head.dense", "gelu", "classifier", norm="head.norm"),
    "mpnet": _ROBERTA,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
}


def attach_head(source: TextEncoder, weights: Weights, encoder: Encoder) -> None:
    if source.task == "embeddings":
        _embeddings(source, encoder)
    elif source.task in ("text-classification", "reranking", "token-classification"):
        _classifier(source, weights, encoder)
    elif source.task == "question-answering":
        _labels(weights, encoder, "qa_outputs", encoder.hidden)
    else:
        raise UnsupportedModel(f"the press engine cannot run {source.origin}: its task is {source.task}")


def _embeddings(source: TextEncoder, encoder: Encoder) -> None:
    file, width, answer = encoder.file, encoder.width, encoder.hidden
    if source.pooling:
        answer = file.buffer(width * len(source.pooling))
    for at, mode in enumerate(source.pooling):
        file.ops.append(
            Op(POOL, activation=POOLS[mode], source=encoder.hidden, target=answer, inputs=width, column=at * width)
        )
    for dense in source.dense:
        refuse(
            source.origin,
            {
                f"a Dense module takes {dense.inputs}": dense.inputs != file.widths[answer],
                f"a Dense module has the activation {dense.activation!r}": dense.activation
                not in (*ACTIVATIONS, "linear"),
            },
        )
        target = file.buffer(_padded(dense.outputs))
        activation = ACTIVATIONS.get(dense.activation, "linear")
        layer = named_linear(Weights(dense.folder), "linear", source=answer, target=target, activation=activation)
        file.ops.append(layer)
        answer = target
    if source.projection:
        target = file.buffer(_padded(source.projection))
        file.ops.append(named_linear(Weights(source.folder), "text_projection", source=answer, target=target))
        answer = target
    if source.normalize:
        file.ops.append(Op(NORMALIZE, target=answer, outputs=file.widths[answer]))
    file.dimensions = source.dimensions


def _classifier(source: TextEncoder, weights: Weights, encoder: Encoder) -> None:
    file, width, answer = encoder.file, encoder.width, encoder.hidden
    how = CLASSIFIERS[source.architecture]
    config = read_config(source.folder, {})
    of_tokens = source.task == "token-classification"
    if not of_tokens:
        answer = file.buffer(width)
        mode = POOLS[config.get("classifier_pooling", "cls")]
        file.ops.append(Op(POOL, activation=mode, source=encoder.hidden, target=answer, inputs=width))
    if not of_tokens or how.norm:
        activation = _activation(source, config, how)
        dense = file.buffer(width)
        file.ops.append(named_linear(weights, how.dense, source=answer, target=dense, activation=activation))
        answer = dense
        if how.norm:
            file.ops.append(norm(weights, how.norm, dense, dense, float(config.get("norm_eps", 1e-5))))
    _labels(weights, encoder, "classifier" if of_tokens else how.labels, answer)


def _labels(weights: Weights, encoder: Encoder, name: str, answer: int) -> None:
    file = encoder.file
    count = len(weights[f"{name}.weight"])
    file.ops.append(named_linear(weights, name, source=answer, target=file.buffer(_padded(count))))
    file.dimensions = count


def _activation(source: TextEncoder, config: dict[str, Any], how: Classifier) -> str:
    named = str(config.get("classifier_activation", how.activation))
    refuse(source.origin, {f"its classifier's activation is {named!r}": named not in ACTIVATIONS})
    return ACTIVATIONS[named]


def _padded(count: int) -> int:
    return -(-count // 16) * 16
