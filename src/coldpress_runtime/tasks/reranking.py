"""A query and documents → how well each answers it: a cross-encoder, also as Cohere's and Jina's clients ask."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.jsontext import dumps
from coldpress_runtime.tasks.reader import Reader
from coldpress_runtime.tasks.scores import apply, count, number
from coldpress_runtime.tasks.texts import fields, flag, shown, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route
    from coldpress_runtime.tasks.reader import Pairs

_EXAMPLE = '{"query": "…", "documents": ["…"]}'


class Reranking:
    def __init__(self, model: "Model") -> None:
        self._reader = Reader(model)
        self._name: str = model.spec["name"]
        self._function: str = model.spec["function"]
        self.routes: dict[str, Route] = {"/": self.plain, "/v1/rerank": self.rerank, "/v2/rerank": self.rerank}

    def plain(self, request: object, room: int) -> str:
        body = fields(request, _EXAMPLE)
        pairs, _ = self._pairs(body)
        logits = [row[0] for row in self._reader.numbers(pairs.ids, pairs.types)]
        if flag(body, "logits", False):
            return dumps({"logits": [number(one) for one in logits]})
        return dumps({"scores": [number(one) for one in apply(self._function, logits)]})

    def rerank(self, request: object, room: int) -> str:
        """The best first. Cohere's clients and Jina's read the same fields of it, each with some of its own."""
        body = fields(request, _EXAMPLE)
        top = count(body, "top_n", None)
        whole = flag(body, "return_documents", False)
        pairs, documents = self._pairs(body)
        logits = [row[0] for row in self._reader.numbers(pairs.ids, pairs.types)]
        scores = apply(self._function, logits)
        order = sorted(range(len(scores)), key=lambda at: -scores[at])[:top]
        results: list[dict[str, object]] = [{"index": at, "relevance_score": number(scores[at])} for at in order]
        if whole:
            for result, at in zip(results, order, strict=True):
                result["document"] = {"text": documents[at]}
        tokens = sum(map(len, pairs.ids))
        return dumps(
            {
                "id": _identifier(),
                "object": "list",
                "model": self._name,
                "results": results,
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
                "meta": {"api_version": {"version": "1"}, "billed_units": {"search_units": 1}},
            }
        )

    def _pairs(self, body: "Mapping[str, object]") -> "tuple[Pairs, list[str]]":
        reader = self._reader
        query = body.get("query")
        if not isinstance(query, str):
            raise BadRequest(400, "missing_field", f"'query' must be a text, not {shown(query)}: {_EXAMPLE}")
        given = body.get("documents")
        if isinstance(given, list):  # Cohere's may also be objects with a text
            given = [one["text"] if isinstance(one, dict) and "text" in one else one for one in given]
        documents = texts({**body, "documents": given} if given is not None else body, "documents", reader.limits)
        queries = texts({"query": query}, "query", reader.limits) * len(documents)
        return reader.pairs(queries, documents, "documents", flag(body, "truncate", True)), documents


def _identifier() -> str:
    from posix import urandom

    return urandom(16).hex()
