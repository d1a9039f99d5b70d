"""What a job on AWS is allowed, and what Step Functions tells of it; what moto has not, as AWS writes it down."""

import json
from pathlib import Path
from typing import Any

import pytest
from deploy_account import connect, deploy, pressed

from coldpress.bulk import grants, machine, remote
from coldpress.bulk.execution import Execution
from coldpress.bulk.outcome import Tally, read_outcome
from coldpress.bulk.places import Bucketed
from coldpress.deploy.aws import Aws
from coldpress.deploy.calling import Asked
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, Interrupted
from coldpress.traffic.answer import told

TO = Bucketed("out-place", "done")
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:small:live"


def statements(document: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(one["Action"], one["Resource"]) for one in document["Statement"]]


def test_no_more_than_a_job_needs() -> None:
    asked = machine.function_policy("aws", "in-place", "2026/", TO)
    assert statements(asked) == [
        ("s3:GetObject", "arn:aws:s3:::in-place/2026/*"),
        ("s3:PutObject", "arn:aws:s3:::out-place/done/*"),
    ]
    (read, *_), (actions, written) = statements(machine.stretches_policy("aws", TO))
    assert read == "s3:GetObject" and written == "arn:aws:s3:::out-place/done/.coldpress/results/*"
    assert set(actions) <= {
        "s3:GetObject",
        "s3:PutObject",
        "s3:ListMultipartUploadParts",
        "s3:AbortMultipartUpload",
    }


def test_the_machine_is_made_once(account: str) -> None:
    aws = connect(account)
    arn, role = grants.make_machine(aws, "small", ARN)
    assert role == "coldpress-small.map-eu-west-1" and arn.endswith(":stateMachine:coldpress-map-small")
    found = aws.call("stepfunctions", "describe_state_machine", stateMachineArn=arn)
    assert found["type"] == "STANDARD" and json.loads(found["definition"]) == machine.definition(ARN)
    allowed = aws.call("iam", "get_role_policy", RoleName=role, PolicyName=machine.POLICY)["PolicyDocument"]
    at = "arn:aws:states:eu-west-1:123456789012"
    assert statements(allowed) == [
        ("lambda:InvokeFunction", ARN),
        ("states:StartExecution", f"{at}:stateMachine:coldpress-map-small"),
        ("states:DescribeExecution", f"{at}:execution:coldpress-map-small:*"),
    ]
    before = len(aws.writes)
    assert grants.make_machine(aws, "small", ARN) == (arn, role)
    assert len(aws.writes) == before
    grants.make_machine(aws, "small", ARN.replace(":live", ":other"))
    changed = [operation for _, operation in aws.writes[before:]]
    assert changed == ["put_role_policy", "update_state_machine"]


def test_the_functions_role_has_it_for_as_long_as_the_job_lasts(
    account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in answers for the function, which moto cannot run: refused at first, as a role that is new is."""
    deploy(account, Wanted("small", pressed(tmp_path / "out", b"one")))
    aws = connect(account)
    aws.pause = lambda seconds: None
    for bucket in ("in-place", "out-place"):
        aws.call(
            "s3", "create_bucket", Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
        )
    aws.call("s3", "put_object", Bucket="in-place", Key="a.jsonl", Body=b'{"text": "a"}\n')
    role = "coldpress-small-eu-west-1"
    policies: list[list[str]] = []

    def ask(aws: Aws, name: str, qualifier: str, event: bytes, **more: Any) -> Asked:
        policies.append(aws.call("iam", "list_role_policies", RoleName=role)["PolicyNames"])
        if len(policies) < 3:
            said = b'{"errorMessage": "s3 GET in-place failed: 403 AccessDenied", "errorType": "AwsError"}'
            return Asked(said, False, "1", "", told({}), 1.0)
        place = json.loads(event)["to"]
        aws.call("s3", "put_object", Bucket=place["bucket"], Key=place["key"], Body=b"[]\n")
        return Asked(b'{"lines": 1, "failed": 0, "ms": 100}', True, "1", "", told({}), 1.0)

    monkeypatch.setattr(remote, "ask", ask)
    result = remote.map_aws(aws, "s3://in-place/*.jsonl", "s3://out-place/done/", "small")
    assert result.whole and result.lines == 1 and len(policies) == 3
    assert result.dollars is not None and 0 < result.dollars < 0.001
    assert all(f"coldpress-map-{machine.mark(TO)}" in names for names in policies)
    assert "stepfunctions" not in {service for service, _ in aws.writes}
    after = aws.call("iam", "list_role_policies", RoleName=role)["PolicyNames"]
    assert after and not any(name.startswith("coldpress-map") for name in after)


def test_a_role_that_somebody_gave_is_not_touched(
    account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = connect(account)
    trust = json.dumps(machine.TRUST).replace("states.", "lambda.")
    role = aws.call("iam", "create_role", RoleName="theirs", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    deploy(account, Wanted("small", pressed(tmp_path / "out", b"one"), role=role))
    for bucket in ("in-place", "out-place"):
        aws.call(
            "s3", "create_bucket", Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
        )
    aws.call("s3", "put_object", Bucket="in-place", Key="a.jsonl", Body=b'{"text": "a"}\n')
    refused = Asked(b'{"errorMessage": "403 AccessDenied"}', False, "1", "", told({}), 1.0)
    monkeypatch.setattr(remote, "ask", lambda *said, **more: refused)
    with pytest.raises(DeployError, match=r"must allow s3:GetObject on arn:aws:s3:::in-place/\*; s3:PutObject on"):
        remote.map_aws(aws, "s3://in-place/*.jsonl", "s3://out-place/done/", "small")
    assert aws.call("iam", "list_role_policies", RoleName="theirs")["PolicyNames"] == []


def test_what_step_functions_writes_down(account: str) -> None:
    """As its ResultWriter documents it; moto writes the manifest alone."""
    aws = connect(account)
    where = {"LocationConstraint": "eu-west-1"}
    aws.call("s3", "create_bucket", Bucket="out-place", CreateBucketConfiguration=where)
    asked = {"to": {"bucket": "out-place", "key": "done/a.jsonl/part-00007.jsonl"}}
    cause = {"errorMessage": "the event's from is wrong", "errorType": "BadRequest"}
    good = [{"Output": json.dumps({"lines": 5, "failed": 1, "ms": 20}), "Status": "SUCCEEDED"}, {"Output": "odd"}]
    bad = [{"Input": json.dumps(asked), "Status": "FAILED", "Error": "BadRequest", "Cause": json.dumps(cause)}]
    manifest = {"ResultFiles": {"SUCCEEDED": [{"Key": "r/s.json", "Size": 1}], "FAILED": [{"Key": "r/f.json"}]}}
    for key, content in (("r/s.json", good), ("r/f.json", bad), ("r/manifest.json", manifest)):
        aws.call("s3", "put_object", Bucket="out-place", Key=key, Body=json.dumps(content).encode())
    tally = Tally()
    output = {"ResultWriterDetails": {"Bucket": "out-place", "Key": "r/manifest.json"}}
    read_outcome(aws, json.dumps(output), "done/", tally)
    assert (tally.asked, tally.lines, tally.failed, tally.ms) == (1, 5, 1, 20)
    (failure,) = tally.failures
    assert failure.part == "a.jsonl/part-00007.jsonl" and failure.reason == "BadRequest: the event's from is wrong"
    for nothing in ("", "[]", "{}", json.dumps({"ResultWriterDetails": {"Bucket": "out-place", "Key": "none"}})):
        read_outcome(aws, nothing, "done/", tally)
    assert tally.asked == 1


def test_an_interrupted_job_is_stopped_on_aws(account: str) -> None:
    """moto keeps an execution that it does not run as running: it is found again, and stopped."""
    aws = connect(account)
    arn, _ = grants.make_machine(aws, "small", ARN)
    execution = Execution(aws, "coldpress-map-small", TO)
    assert not execution.find_running()
    execution.start(arn, 10, patient=False)
    other = Execution(aws, "coldpress-map-small", TO)
    assert other.find_running()
    assert not Execution(aws, "coldpress-map-small", Bucketed("out-place", "else")).find_running()

    def say(words: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"stopped on AWS; .*--resume"):
        other.watch(say, Tally(), 0.0)
    assert not other.find_running()
    (stopped,) = aws.call("stepfunctions", "list_executions", stateMachineArn=arn)["executions"]
    assert stopped["status"] == "ABORTED"
