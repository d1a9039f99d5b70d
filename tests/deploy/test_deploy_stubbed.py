"""SnapStart, which moto does not have: every call and every answer is held against botocore's own model."""

from pathlib import Path
from typing import Any

import pytest
from botocore.stub import ANY, Stubber
from deploy_account import pressed

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.function import unlike
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted

ROLE = "arn:aws:iam::123456789012:role/theirs"
ADDRESS = {
    "FunctionUrl": f"https://{'x' * 32}.lambda-url.eu-west-1.on.aws/",
    "FunctionArn": "arn:aws:lambda:eu-west-1:123456789012:function:small:live",
    "AuthType": "AWS_IAM",
}
MADE: dict[str, Any] = {
    "FunctionName": "small",
    "Runtime": "python3.13",
    "Role": ROLE,
    "Handler": "handler.lambda_handler",
    "MemorySize": 1024,
    "Timeout": 30,
    "Environment": {"Variables": {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/bootstrap"}},
    "EphemeralStorage": {"Size": 512},
    "LoggingConfig": {"LogFormat": "JSON", "LogGroup": "/aws/lambda/small"},
    "SnapStart": {"ApplyOn": "PublishedVersions", "OptimizationStatus": "Off"},
    "Description": "small, pressed by coldpress",
    "State": "Active",
    "LastUpdateStatus": "Successful",
}


@pytest.fixture
def stubbed(account: str) -> tuple[Aws, Stubber]:
    aws = Aws(endpoint_url=account)
    stub = Stubber(aws.client("lambda"))
    stub.activate()
    return aws, stub


def test_a_snapshot_is_made_before_it_is_live(stubbed: tuple[Aws, Stubber], tmp_path: Path) -> None:
    aws, stub = stubbed
    wanted = Wanted(
        "small",
        pressed(tmp_path / "out", b"one"),
        memory_mb=1024,
        snapstart=True,
        json_log=True,
        role=ROLE,
        tags={"team": "search"},
    )
    stub.add_client_error("get_function", "ResourceNotFoundException", http_status_code=404)
    made = plan(aws, wanted)
    create = {
        **{name: MADE[name] for name in MADE if name not in ("State", "LastUpdateStatus")},
        "SnapStart": {"ApplyOn": "PublishedVersions"},
        "LoggingConfig": {"LogFormat": "JSON"},
        "PackageType": "Zip",
        "Code": {"ZipFile": b"one"},
        "Architectures": ["x86_64"],
        "Tags": {"team": "search"},
    }
    live = {"FunctionName": "small", "Name": "live", "FunctionVersion": "1"}
    stub.add_response("create_function", {**MADE, "State": "Pending"}, create)
    stub.add_response("get_function", {"Configuration": MADE}, {"FunctionName": "small"})
    stub.add_response("publish_version", {**MADE, "Version": "1"}, {"FunctionName": "small", "CodeSha256": ANY})
    one = {"FunctionName": "small", "Qualifier": "1"}
    stub.add_response("get_function_configuration", {**MADE, "State": "Pending"}, one)
    stub.add_response("get_function_configuration", {**MADE, "State": "Active"}, one)
    stub.add_response("create_alias", {"Name": "live", "FunctionVersion": "1"}, live)
    url = {"FunctionName": "small", "Qualifier": "live", "AuthType": "AWS_IAM"}
    stub.add_response("create_function_url_config", {**ADDRESS, "CreationTime": "2026-01-01T00:00:00Z"}, url)
    assert made.run().version == "1"
    stub.assert_no_pending_responses()


def test_what_aws_adds_is_no_difference(tmp_path: Path) -> None:
    wants = {name: MADE[name] for name in ("Role", "MemorySize", "Timeout", "Environment", "EphemeralStorage")}
    wants |= {"SnapStart": {"ApplyOn": "PublishedVersions"}, "LoggingConfig": {"LogFormat": "JSON"}}
    assert unlike(MADE, wants) == []
    assert unlike({**MADE, "SnapStart": {"ApplyOn": "None"}}, wants) == ["SnapStart"]
    assert unlike({**MADE, "Environment": {"Variables": {}}}, wants) == ["Environment"]
