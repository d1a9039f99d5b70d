"""Every task that reads text, on both engines, against transformers itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from lambda_events import function_url
from transformers import AutoTokenizer, BertConfig, pipeline

import coldpress
from coldpress.artifact import Artifact
from coldpress_runtime.batch import ask_many
from coldpress_runtime.function import Function

LABELS = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}
TEXTS = [
    "Ada Lovelace met Charles Babbage in London, and wrote to him from Ockham.",
    "Zürich's trams run unbelievably punctually!",
    "word " * 200,
    "x",
]
HEADS: dict[str, tuple[str, dict[str, Any]]] = {
    "text-classification": ("BertForSequenceClassification", {"num_labels": 3}),
    "multi-label": (
        "BertForSequenceClassification",
        {"num_labels": 4, "problem_type": "multi_label_classification"},
    ),
    "regression": ("BertForSequenceClassification", {"num_labels": 1, "problem_type": "regression"}),
    "reranking": ("BertForSequenceClassification", {"num_labels": 1}),
    "token-classification": (
        "BertForTokenClassification",
        {"id2label": LABELS, "label2id": {name: at for at, name in LABELS.items()}},
    ),
    "question-answering": ("BertForQuestionAnswering", {}),
    "fill-mask": ("BertForMaskedLM", {}),
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory, minilm_folder: Path) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp("heads") / f"tiny-{kind.replace('reranking', 'reranker')}"
            name, settings = HEADS[kind]
            torch.manual_seed(3)
            config = BertConfig(
                hidden_size=64,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=128,
                max_position_embeddings=128,
                vocab_size=30522,
                initializer_range=0.3,
                **settings,
            )
            getattr(transformers, name)(config).save_pretrained(made[kind])
            tokenizer = AutoTokenizer.from_pretrained(minilm_folder, model_max_length=128)
            tokenizer.save_pretrained(made[kind])
        return made[kind]

    return folder


@pytest.fixture(scope="session")
def built(
    tmp_path_factory: pytest.TempPathFactory, folders: Callable[[str], Path]
) -> Callable[[str, str], Artifact]:
    made: dict[tuple[str, str], Artifact] = {}

    def build(kind: str, precision: str) -> Artifact:
        if (kind, precision) not in made:
            made[kind, precision] = coldpress.build(
                folders(kind),
                out=tmp_path_factory.mktemp(kind) / "out",
                precision=precision,
                quick=True,
                package="none",
            )
        return made[kind, precision]

    return build


Built = Callable[[str, str], Artifact]
Folders = Callable[[str], Path]


def ask(artifact: Artifact, event: Any) -> Any:
    return json.loads(Function(str(artifact.function_folder)).handle(event))


def task_of(artifact: Artifact) -> str:
    (model,) = artifact.manifest["models"].values()
    return str(model["task"])


@pytest.mark.parametrize("kind", HEADS)
def test_the_task_is_found_and_floats_are_exact(kind: str, built: Built) -> None:
    artifact = built(kind, "fp32")
    (model,) = artifact.manifest["models"].values()
    wanted = "text-classification" if kind in ("multi-label", "regression") else kind
    assert model["task"] == wanted
    assert model["drift"]["total"] <= 0.001


@pytest.mark.parametrize("kind", [kind for kind in HEADS if kind != "fill-mask"])
def test_encoders_with_a_head_go_to_press(kind: str, built: Built) -> None:
    artifact = built(kind, "auto")
    assert artifact.manifest["engine"] == "press"
    (model,) = artifact.manifest["models"].values()
    assert model["drift"]["total"] <= 0.15


@pytest.mark.parametrize("kind", ["text-classification", "multi-label", "regression"])
def test_texts_are_classified_as_by_transformers(kind: str, built: Built, folders: Folders) -> None:
    artifact = built(kind, "fp32")
    theirs: Any = pipeline("text-classification", model=str(folders(kind)), truncation=True, max_length=128)
    for event, expected in [
        ({"text": TEXTS[0]}, theirs(TEXTS[0])),
        ({"text": TEXTS}, theirs(TEXTS)),
        ({"text": TEXTS[0], "top_k": 2}, theirs(TEXTS[0], top_k=2)),
        ({"text": TEXTS, "top_k": None}, theirs(TEXTS, top_k=None)),
        ({"text": TEXTS[0], "function_to_apply": "none"}, theirs(TEXTS[0], function_to_apply="none")),
        (
            {"text": TEXTS[0], "text_pair": TEXTS[1], "top_k": None},
            theirs({"text": TEXTS[0], "text_pair": TEXTS[1]}, top_k=None),
        ),
        (
            {"text": TEXTS[2], "text_pair": TEXTS[2] + "end", "top_k": None},
            theirs({"text": TEXTS[2], "text_pair": TEXTS[2] + "end"}, top_k=None),
        ),
    ]:
        same(ask(artifact, event), expected)


@pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
def test_tokens_are_classified_as_by_transformers(strategy: str, built: Built, folders: Folders) -> None:
    theirs: Any = pipeline("token-classification", model=str(folders("token-classification")))
    expected = theirs(TEXTS, aggregation_strategy=strategy)
    ours = ask(built("token-classification", "fp32"), {"text": TEXTS, "aggregation_strategy": strategy})
    for text, wanted, found in zip(TEXTS, expected, ours, strict=True):
        for entity in wanted:
            # Theirs is put together from tokens again; ours is what stands in the text.
            entity["word"] = text[entity["start"] : entity["end"]]
        same(found, wanted)
    assert any(len(found) > 2 for found in ours)


def test_documents_are_ranked_as_by_sentence_transformers(built: Built, folders: Folders) -> None:
    from sentence_transformers import CrossEncoder

    pairs = [(TEXTS[0], document) for document in TEXTS]
    theirs = CrossEncoder(str(folders("reranking")), max_length=128, device="cpu").predict(pairs)
    artifact = built("reranking", "fp32")
    same(ask(artifact, {"query": TEXTS[0], "documents": TEXTS})["scores"], theirs.tolist())


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
def test_rerank_as_clients_of_cohere_and_jina_send_it(path: str, built: Built) -> None:
    artifact = built("reranking", "fp32")
    scores = ask(artifact, {"query": TEXTS[0], "documents": TEXTS})["scores"]
    body = {
        "model": "rerank-v3.5",
        "query": TEXTS[0],
        "documents": [TEXTS[0], {"text": TEXTS[1]}, *TEXTS[2:]],
        "top_n": 2,
        "return_documents": True,
    }
    answer = json.loads(ask(artifact, function_url("POST", path, body))["body"])
    best = sorted(range(len(scores)), key=lambda at: -scores[at])[:2]
    assert [result["index"] for result in answer["results"]] == best
    assert [result["relevance_score"] for result in answer["results"]] == [scores[at] for at in best]
    assert answer["results"][0]["document"] == {"text": TEXTS[best[0]]}
    assert answer["usage"]["total_tokens"] > 4


def test_gaps_are_filled_as_by_transformers(built: Built, folders: Folders) -> None:
    artifact = built("fill-mask", "fp32")
    theirs: Any = pipeline("fill-mask", model=str(folders("fill-mask")))
    one, two = "Paris is the [MASK] of France.", "The [MASK] sat on the [MASK]."
    for event, expected in [
        ({"text": one}, theirs(one)),
        ({"text": two, "top_k": 3}, theirs(two, top_k=3)),
        ({"text": [one, one]}, theirs([one, one])),
        ({"text": one, "targets": ["capital", "city"]}, theirs(one, targets=["capital", "city"])),
    ]:
        same(ask(artifact, event), expected)


def test_answers_are_the_likeliest_whole_words(built: Built, folders: Folders) -> None:
    """transformers has no such pipeline any more: here is what its last one did, on its own model."""
    artifact = built("question-answering", "fp32")
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folders("question-answering"))
    tokenizer = AutoTokenizer.from_pretrained(folders("question-answering"))
    question, context = "Who met whom?", TEXTS[0]
    inputs = tokenizer(question, context, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**inputs)
    allowed = torch.tensor([part == 1 for part in inputs.sequence_ids()])
    allowed[0] = True
    start, end = (
        torch.where(allowed, one[0], -1e4).softmax(-1) for one in (logits.start_logits, logits.end_logits)
    )
    start[0] = end[0] = 0
    joint = torch.triu(start[:, None] * end[None]).tril(14)
    first, last = divmod(int(joint.argmax()), joint.shape[1])
    words = inputs.word_ids()
    own = [at for at, part in enumerate(inputs.sequence_ids()) if part == 1]
    spans = [inputs.token_to_chars(at) for at in own if words[at] in (words[first], words[last])]
    expected = {"score": float(joint.max()), "start": spans[0].start, "end": spans[-1].end}
    answer = ask(artifact, {"question": question, "context": context})
    same({key: answer[key] for key in expected}, expected)
    assert answer["answer"] == context[answer["start"] : answer["end"]]


def test_long_texts_are_read_in_parts(built: Built) -> None:
    artifact = built("question-answering", "fp32")
    short = ask(artifact, {"question": "Who?", "context": TEXTS[0]})
    long = TEXTS[0] + " and so on" * 400
    found = ask(artifact, {"question": "Who?", "context": long, "top_k": 5})
    assert len({(one["start"], one["end"]) for one in found}) == 5
    assert all(one["answer"] == long[one["start"] : one["end"]] for one in found)
    several = ask(artifact, {"question": ["Who?", "Where?"], "context": [TEXTS[0]]})
    same(several[0], short)


@pytest.mark.parametrize(
    ("kind", "event", "message"),
    [
        ("text-classification", {}, "the field 'text' is missing"),
        ("text-classification", {"text": "a", "top_k": 0}, "'top_k' is 0; it can be a number from 1 on"),
        ("text-classification", {"text": "a", "function_to_apply": "max"}, "it can be: softmax, sigmoid, none"),
        ("text-classification", {"text": ["a", "b"], "text_pair": "c"}, "'text' holds 2 texts and 'text_pair' 1"),
        ("text-classification", {"text": "a " * 999, "truncate": False}, "more than 128 tokens"),
        ("token-classification", {"text": "a", "ignore_labels": "O"}, "'ignore_labels' must be a list of texts"),
        ("token-classification", {"text": "a", "aggregation_strategy": "all"}, "it can be: none, simple"),
        ("reranking", {"documents": ["a"]}, "'query' must be a text, not None"),
        ("reranking", {"query": "a"}, "the field 'documents' is missing"),
        ("reranking", {"query": "a", "documents": [7]}, "documents[0] must be a text"),
        ("question-answering", {"question": "a"}, "the field 'context' is missing"),
        ("question-answering", {"question": ["a"], "context": ["b", "c"]}, "send as many of each"),
        ("fill-mask", {"text": "no gap"}, "write [MASK]"),
        ("fill-mask", {"text": "a [MASK]", "targets": [""]}, "this model has no such token"),
    ],
)
def test_what_is_wrong_is_said(kind: str, event: dict[str, Any], message: str, built: Built) -> None:
    assert message in ask(built(kind, "fp32"), event)["error"]["message"]


@pytest.mark.parametrize("kind", HEADS)
def test_every_task_describes_itself(kind: str, built: Built) -> None:
    reply = ask(built(kind, "fp32"), function_url("GET", "/openapi.json"))
    document = json.loads(reply["body"])
    assert document["paths"]["/"]["post"]["requestBody"]["required"]


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            same(ours[key], value)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    elif isinstance(theirs, str):
        assert ours == theirs
    else:
        assert ours == pytest.approx(float(theirs), abs=2e-5)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("text-classification", {}),
        ("text-classification", {"top_k": 2}),
        ("multi-label", {"logits": True}),
        ("token-classification", {}),
        ("token-classification", {"aggregation_strategy": "none"}),
        ("token-classification", {"logits": True}),
    ],
)
def test_a_batch_is_one_pass_with_the_same_answers(kind: str, asked: dict[str, Any], built: Built) -> None:
    function = Function(str(built(kind, "int8").function_folder))
    task: Any = function.task()
    requests: list[Any] = [{"text": text, **asked} for text in TEXTS]
    alone = [json.loads(function.handle(request)) for request in requests]
    passes: list[int] = []
    run = task._reader._session.run

    def counted(batch: list[list[int]], types: Any) -> Any:
        passes.append(len(batch))
        return run(batch, types)

    task._reader._session.run = counted
    answers = ask_many(task, requests)
    assert [json.loads(str(one)) for one in answers] == alone
    assert passes == [len(TEXTS)]
