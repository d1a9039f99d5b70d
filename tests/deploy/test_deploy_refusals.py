"""Errors that people meet, over real sockets: a proxy before moto refuses a call as AWS does, for ever or for a
while, and boto3 reads it."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from deploy_account import pressed

from coldpress.artifact import Artifact
from coldpress.deploy import aws as calls
from coldpress.deploy.aws import Aws
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError

CREATE = ("POST", "/2015-03-31/functions")
ROLE = "The role defined for the function cannot be assumed by Lambda."
ALIAS = ("POST", "/2015-03-31/functions/small/aliases")


class Refusals:
    """(method, path) -> status, AWS's name of the error, its words; and how often."""

    def __init__(self, real: str, at: tuple[str, str], status: int, code: str, words: str, times: int) -> None:
        self.real, self.at, self.times = urlsplit(real), at, times
        self.status, self.code, self.words = status, code, words


@contextmanager
def refusing(refusals: Refusals) -> Iterator[str]:
    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = (self.command, urlsplit(self.path).path)
            if asked == refusals.at and refusals.times > 0:
                refusals.times -= 1
                said = json.dumps({"Type": "User", "Message": refusals.words, "message": refusals.words}).encode()
                self._send(refusals.status, {"x-amzn-ErrorType": refusals.code}, said)
                return
            assert refusals.real.hostname is not None
            upstream = http.client.HTTPConnection(refusals.real.hostname, refusals.real.port, timeout=30)
            upstream.request(self.command, self.path, body, dict(self.headers.items()))
            response = upstream.getresponse()
            kept = {name: value for name, value in response.getheaders() if name.lower() in KEPT}
            self._send(response.status, kept, response.read())
            upstream.close()

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name there
            """Nobody reads it."""

    for verb in ("GET", "POST", "PUT", "DELETE", "HEAD"):
        setattr(Proxy, f"do_{verb}", Proxy.answer)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


KEPT = ("content-type", "x-amzn-errortype", "x-amz-function-error", "etag")


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    return pressed(tmp_path / "out", b"one")


class Patient(Aws):
    """Time passes at once."""

    def __init__(self, endpoint_url: str) -> None:
        super().__init__(endpoint_url=endpoint_url, pause=lambda seconds: None)


@pytest.mark.parametrize(
    ("status", "code", "words", "fix"),
    [
        (403, "AccessDeniedException", "User: x is not authorized", "allow lambda:CreateFunction for them"),
        (
            400,
            "InvalidParameterValueException",
            "Source image 1.dkr.ecr.eu-west-1.amazonaws.com/x@sha256:0 does not exist.",
            "the image is not in the registry: deploy again, which sends it",
        ),
        (400, "CodeStorageExceededException", "Code storage limit exceeded.", "coldpress prune"),
        (400, "ServiceQuotaExceededException", "Too many functions", "ask AWS for more (Service Quotas)"),
        (409, "ResourceConflictException", "Function already exist: small", "being changed by somebody else"),
        (403, "UnrecognizedClientException", "The security token is invalid.", "not enabled for the account"),
        (403, "ExpiredTokenException", "The security token has expired", "aws sso login"),
        (403, "InvalidSignatureException", "Signature expired: is now earlier than", "clock is wrong"),
        (
            400,
            "InvalidParameterValueException",
            "'MemorySize' value failed to satisfy constraint: Member must have value less than or equal to 3008",
            "new accounts are held to 3,008 MB",
        ),
    ],
)
def test_the_call_the_cause_the_fix(
    account: str, artifact: Artifact, status: int, code: str, words: str, fix: str
) -> None:
    always = Refusals(account, CREATE, status, code, words, 10**6)
    with refusing(always) as proxy, pytest.raises(DeployError) as told:
        plan(Patient(proxy), Wanted("small", artifact)).run()
    said = str(told.value)
    assert "lambda.create_function in eu-west-1" in said and code in said and words in said and fix in said


@pytest.mark.parametrize(
    ("at", "status", "code", "words"),
    [
        (
            CREATE,
            400,
            "InvalidParameterValueException",
            "The role defined for the function cannot be assumed by Lambda.",
        ),
        (CREATE, 429, "TooManyRequestsException", "Rate exceeded"),
        (
            CREATE,
            400,
            "InvalidParameterValueException",
            "Lambda does not have permission to access the ECR image.",
        ),
        (ALIAS, 409, "ResourceConflictException", "The operation cannot be performed: an update is in progress"),
        (ALIAS, 500, "ServiceException", "internal"),
    ],
)
def test_what_passes_by_itself_is_waited_for(
    account: str, artifact: Artifact, at: tuple[str, str], status: int, code: str, words: str
) -> None:
    refusals = Refusals(account, at, status, code, words, 4)
    with refusing(refusals) as proxy:
        facts = plan(Patient(proxy), Wanted("small", artifact)).run()
    assert facts.version == "1" and refusals.times == 0


def test_it_is_not_waited_for_ever(account: str, artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PATIENCE", 0.0)
    always = Refusals(account, CREATE, 400, "InvalidParameterValueException", ROLE, 10**6)
    with refusing(always) as proxy, pytest.raises(DeployError, match="look at its trust policy"):
        plan(Patient(proxy), Wanted("small", artifact)).run()


def test_a_region_that_is_not_there(artifact: Artifact, account: str) -> None:
    with pytest.raises(DeployError, match=r"in mars-1: .*is there such a region, and a network\?"):
        plan(
            Aws(region="mars-1", pause=lambda seconds: None),
            Wanted("small", artifact, role="arn:aws:iam::1:role/x"),
        )
