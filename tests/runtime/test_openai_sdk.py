"""OpenAI's own SDK, over a socket, unchanged.

Between the SDK and the function stands a small HTTP server that wraps each request into a Function
URL's event and unwraps the answer: a stand-in for AWS's front end, nothing more.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import openai
import pytest
from lambda_events import function_url

from coldpress_runtime.function import Function


@pytest.fixture(scope="module")
def url(function: Function) -> Iterator[str]:
    class FrontEnd(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            event = function_url("POST", self.path, body, headers=dict(self.headers.items()))
            reply = json.loads(function.handle(event))
            data = reply["body"].encode()
            self.send_response(reply["statusCode"])
            for name, value in reply["headers"].items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server has it
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), FrontEnd)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=url, api_key="anything", max_retries=0) as made:
        yield made


def single(vectors: list[list[float]]) -> bytes:
    """The vectors as float32, bit for bit."""
    return np.array(vectors, dtype=np.float32).tobytes()


def test_embeddings(client: openai.OpenAI, function: Function) -> None:
    texts = ["hello", "a longer text, for good measure"]
    answer = client.embeddings.create(model="minilm", input=texts)
    expected = json.loads(function.handle({"text": texts}))["embeddings"]
    assert single([datum.embedding for datum in answer.data]) == single(expected)
    assert answer.model == "minilm"
    assert answer.usage.total_tokens > 0


def test_both_encodings_agree(client: openai.OpenAI) -> None:
    plain = client.embeddings.create(model="minilm", input="hello", encoding_format="float")
    packed = client.embeddings.create(model="minilm", input="hello")  # the SDK asks for base64 by itself
    assert single([plain.data[0].embedding]) == single([packed.data[0].embedding])


def test_a_refusal_is_the_sdks_own_error(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="empty list"):
        client.embeddings.create(model="minilm", input=[])
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="minilm", prompt="hello")
