"""What AWS refuses, in words: the call, the cause, the fix; and what is worth to be asked again."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError

from coldpress.deploy.aws import Aws
from coldpress.deploy.faults import fault, may_pass
from coldpress.deploy.options import pairs
from coldpress.errors import DeployError, UsageError


def refused(code: str, words: str = "no") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": words}}, "Operation")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (refused("AccessDeniedException"), "allow lambda:CreateFunction for them"),
        (refused("UnrecognizedClientException"), "AWS_ACCESS_KEY_ID"),
        (refused("ExpiredToken"), "aws sso login"),
        (refused("RequestTimeTooSkewed"), "clock is wrong"),
        (refused("CodeStorageExceededException"), "75 GB"),
        (refused("ResourceConflictException", "exists"), "changed by somebody else"),
        (refused("InvalidParameterValueException", "The role … cannot be assumed by Lambda."), "trust policy"),
        (
            refused("InvalidParameterValueException", "decreases account's UnreservedConcurrentExecution below"),
            "not enough concurrency left",
        ),
        (refused("SomethingNew", "its words"), "SomethingNew: its words"),
        (NoCredentialsError(), "aws configure"),
        (NoRegionError(), "--region"),
        (EndpointConnectionError(endpoint_url="https://lambda.mars-1.example"), "is there such a region"),
    ],
)
def test_in_words(error: Exception, says: str) -> None:
    found = fault(error, "lambda", "create_function", "eu-west-1")
    assert isinstance(found, DeployError)
    assert says in str(found) and "lambda.create_function in eu-west-1" in str(found)


def test_other_errors_are_left_alone() -> None:
    mistake = KeyError("x")
    assert fault(mistake, "lambda", "invoke", "eu-west-1") is mistake


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (refused("TooManyRequestsException"), True),
        (refused("ResourceConflictException", "an update is in progress for resource"), True),
        (refused("ResourceConflictException", "Function already exist"), False),
        (refused("InvalidParameterValueException", "The role … cannot be assumed by Lambda."), True),
        (refused("InvalidParameterValueException", "MemorySize"), False),
        (refused("AccessDenied"), False),
        (NoCredentialsError(), False),
    ],
)
def test_what_passes_by_itself(error: Exception, passes: bool) -> None:
    assert may_pass(error) == passes


def test_it_is_asked_again_and_then_given_up() -> None:
    refusals = [refused("TooManyRequestsException"), refused("TooManyRequestsException")]

    class Client:
        def get_function(self, **arguments: str) -> dict[str, str]:
            if refusals:
                raise refusals.pop()
            return arguments

    pauses: list[float] = []
    aws = Aws(region="eu-west-1", pause=pauses.append)
    aws._clients["lambda"] = Client()
    assert aws.call("lambda", "get_function", FunctionName="f") == {"FunctionName": "f"}
    assert len(pauses) == 2 and len(aws.calls) == 3 and aws.writes == []
    refusals.append(refused("AccessDenied"))
    with pytest.raises(DeployError, match="was refused: AccessDenied"):
        aws.call("lambda", "get_function", FunctionName="f")


def test_no_region_is_told_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(DeployError, match="no region is set: --region, or AWS_REGION"):
        Aws().call("lambda", "invoke")
    with pytest.raises(DeployError, match="no region is set: --region, or AWS_REGION"):
        Aws().client("lambda", "invoke")


def test_pairs() -> None:
    assert pairs("--env", ("A=b=c", "B=")) == {"A": "b=c", "B": ""}
    for wrong in (("A",), ("=b",), ("A=1", "A=2")):
        with pytest.raises(UsageError, match="--env"):
            pairs("--env", wrong)
