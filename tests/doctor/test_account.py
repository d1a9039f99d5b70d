"""The account, asked by real boto3 over real sockets: STS and IAM are a small server that answers in their shapes.

The answers are written after the services' documented XML, not recorded.
"""

import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from coldpress.doctor import Finding, examine_account
from coldpress.doctor.aws import NEEDED, SOMETIMES, ask
from coldpress.doctor.finding import Level

ACCOUNT = "123456789012"
USER = f"arn:aws:iam::{ACCOUNT}:user/ada"
_STS, _IAM = "https://sts.amazonaws.com/doc/2011-06-15/", "https://iam.amazonaws.com/doc/2010-05-08/"
_REQUEST = "<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>"


def _identity(arn: str = USER) -> tuple[int, str]:
    said = f"<Arn>{arn}</Arn><UserId>AIDA</UserId><Account>{ACCOUNT}</Account>"
    name = "GetCallerIdentity"
    return 200, f'<{name}Response xmlns="{_STS}"><{name}Result>{said}</{name}Result>{_REQUEST}</{name}Response>'


def _error(status: int, code: str, message: str) -> tuple[int, str]:
    said = f"<Type>Sender</Type><Code>{code}</Code><Message>{message}</Message>"
    return status, f'<ErrorResponse xmlns="{_STS}"><Error>{said}</Error><RequestId>1</RequestId></ErrorResponse>'


def _simulated(denied: dict[str, str]) -> tuple[int, str]:
    members = "".join(
        f"<member><EvalActionName>{action}</EvalActionName><EvalResourceName>*</EvalResourceName>"
        f"<EvalDecision>{denied.get(action, 'allowed')}</EvalDecision></member>"
        for action in (*NEEDED, *SOMETIMES)
    )
    name, inner = "SimulatePrincipalPolicy", "<IsTruncated>false</IsTruncated>"
    said = f"{inner}<EvaluationResults>{members}</EvaluationResults>"
    return 200, f'<{name}Response xmlns="{_IAM}"><{name}Result>{said}</{name}Result>{_REQUEST}</{name}Response>'


def _by_name() -> dict[str, Finding]:
    findings = examine_account()
    assert all(one.fix and one.why for one in findings if one.level != "green")
    return {one.name: one for one in findings}


def test_all_is_well(aws: Any) -> None:
    aws.answers = {"GetCallerIdentity": _identity(), "SimulatePrincipalPolicy": _simulated({})}
    found = _by_name()
    assert {one.level for one in found.values()} == {"green"}
    assert found.keys() == {"AWS credentials", "AWS region", "clock", "AWS permissions"}
    assert found["AWS credentials"].what == f"account {ACCOUNT}, as user/ada, from env"
    assert found["AWS region"].what == "eu-central-1"
    assert aws.asked[1]["PolicySourceArn"] == USER


def test_no_credentials_and_no_region(no_account: None) -> None:
    found = _by_name()
    assert found.keys() == {"AWS credentials", "AWS region"}
    assert found["AWS credentials"].level == "yellow"
    assert "aws configure" in found["AWS credentials"].fix
    assert found["AWS region"].level == "yellow"
    assert "AWS_REGION" in found["AWS region"].fix


def test_without_boto3(no_account: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    (finding,) = examine_account()
    assert finding.level == "yellow"
    assert finding.fix == "pip install 'coldpress[aws]'"


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        ("InvalidClientTokenId", "aws configure"),
        ("ExpiredToken", "aws sso login"),
        ("SignatureDoesNotMatch", "the clock is wrong"),
    ],
)
def test_keys_that_aws_refuses(aws: Any, code: str, fix: str) -> None:
    aws.answers = {"GetCallerIdentity": _error(403, code, "no")}
    found = _by_name()
    assert found["AWS credentials"].level == "red"
    assert code in found["AWS credentials"].what
    assert fix in found["AWS credentials"].fix
    assert "AWS permissions" not in found


def test_a_profile_that_is_not_there(no_account: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    finding = _by_name()["AWS credentials"]
    assert finding.level == "red"
    assert "nobody" in finding.what
    assert "AWS_PROFILE" in finding.fix


def test_half_of_a_key(no_account: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    finding = _by_name()["AWS credentials"]
    assert finding.level == "red"
    assert "AWS_SECRET_ACCESS_KEY" in finding.fix


@pytest.mark.parametrize(
    ("ahead", "level", "words"),
    [
        (20.0, "green", "less than a minute"),
        (130.0, "yellow", "minutes behind"),
        (-130.0, "yellow", "minutes ahead of"),
        (-900.0, "red", "15 minutes ahead of"),
        (7200.0, "red", "2 hours behind"),
    ],
)
def test_a_clock_that_is_wrong(aws: Any, ahead: float, level: Level, words: str) -> None:
    aws.answers = {"GetCallerIdentity": _identity(), "SimulatePrincipalPolicy": _simulated({})}
    aws.ahead = ahead
    finding = _by_name()["clock"]
    assert finding.level == level
    assert words in finding.what
    assert level == "green" or "timedatectl" in finding.fix


def test_a_clock_so_wrong_that_aws_refuses(aws: Any) -> None:
    """A refusal has a date too, and says what is the matter better than its own words."""
    aws.answers = {"GetCallerIdentity": _error(403, "SignatureDoesNotMatch", "Signature expired")}
    aws.ahead = 3600.0
    found = _by_name()
    assert found["clock"].level == "red"
    assert found["AWS credentials"].level == "red"


def test_an_answer_without_a_date(aws: Any) -> None:
    aws.answers = {"GetCallerIdentity": _identity(), "SimulatePrincipalPolicy": _simulated({})}
    aws.ahead = None
    assert "clock" not in _by_name()


def test_missing_permissions(aws: Any) -> None:
    denied = {"lambda:CreateFunction": "implicitDeny", "s3:PutObject": "explicitDeny"}
    aws.answers = {"GetCallerIdentity": _identity(), "SimulatePrincipalPolicy": _simulated(denied)}
    finding = _by_name()["AWS permissions"]
    assert finding.level == "red"
    assert "lambda:CreateFunction (to make the function)" in finding.what
    assert "lambda:CreateFunction, s3:PutObject" in finding.fix
    assert USER in finding.fix


def test_permissions_that_only_some_ways_need(aws: Any) -> None:
    denied = {"s3:PutObject": "implicitDeny"}
    aws.answers = {"GetCallerIdentity": _identity(), "SimulatePrincipalPolicy": _simulated(denied)}
    finding = _by_name()["AWS permissions"]
    assert finding.level == "yellow"
    assert "a zip above 50 MB" in finding.what


def test_permissions_that_cannot_be_simulated(aws: Any) -> None:
    refusal = _error(403, "AccessDenied", "not authorized to perform: iam:SimulatePrincipalPolicy")
    aws.answers = {"GetCallerIdentity": _identity(), "SimulatePrincipalPolicy": refusal}
    finding = _by_name()["AWS permissions"]
    assert finding.level == "yellow"
    assert "cannot be checked: AccessDenied" in finding.what
    assert "iam:SimulatePrincipalPolicy" in finding.fix


def test_a_session_is_asked_for_by_its_role(aws: Any) -> None:
    session = f"arn:aws:sts::{ACCOUNT}:assumed-role/Builder/ada"
    aws.answers = {"GetCallerIdentity": _identity(session), "SimulatePrincipalPolicy": _simulated({})}
    assert _by_name()["AWS permissions"].level == "green"
    assert [one["Action"] for one in aws.asked] == ["GetCallerIdentity", "GetRole", "SimulatePrincipalPolicy"]
    assert aws.asked[-1]["PolicySourceArn"] == f"arn:aws:iam::{ACCOUNT}:role/Builder"


def test_the_root_user(aws: Any) -> None:
    aws.answers = {"GetCallerIdentity": _identity(f"arn:aws:iam::{ACCOUNT}:root")}
    found = _by_name()
    assert found["AWS credentials"].level == "yellow"
    assert "delete the root user's keys" in found["AWS credentials"].fix
    assert len(aws.asked) == 1


def _timed(call: Callable[[], dict[str, Finding]]) -> tuple[dict[str, Finding], float]:
    start = time.monotonic()
    return call(), time.monotonic() - start


def test_nobody_listens(aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free.getsockname()[1]}")
        found, seconds = _timed(_by_name)
    assert found["AWS credentials"].level == "yellow"
    assert "EndpointConnectionError" in found["AWS credentials"].what
    assert seconds < 3


def test_somebody_listens_and_says_nothing(aws: Any) -> None:
    aws.silent = True
    found, seconds = _timed(_by_name)
    assert found["AWS credentials"].level == "yellow"
    assert seconds < 3


def test_a_name_that_nobody_resolves(aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No time-out of a client holds for it."""
    over = threading.Event()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://sts.example")

    def slow(*names: object, **more: object) -> None:
        over.wait(10)
        raise OSError("not found")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    said = ask(patience=0.5)
    over.set()
    assert said.late
    assert said.found_in == "env"
    for thread in threading.enumerate():
        if thread.name == "doctor-aws":
            thread.join(5)
