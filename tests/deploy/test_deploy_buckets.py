"""Buckets that tell of their objects, against moto's server: others' notifications stay, ours come and go."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploy_account import Killed, Mortal, connect, deploy, pressed

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws
from coldpress.deploy.manage import delete
from coldpress.deploy.parts import role
from coldpress.deploy.places import Place
from coldpress.deploy.plan import plan
from coldpress.deploy.sink import Sink
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError

ACCOUNT = "123456789012"
LIVE = f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:small:live"
THEIRS: dict[str, Any] = {
    "Id": "theirs",
    "LambdaFunctionArn": f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:theirs",
    "Events": ["s3:ObjectRemoved:*"],
}


HEARD = {
    "Id": "heard",
    "QueueArn": f"arn:aws:sqs:eu-west-1:{ACCOUNT}:heard",
    "Events": ["s3:ObjectRestore:Completed"],
}


def place(text: str) -> Place:
    return Place.parse("--bucket", text)


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    return pressed(tmp_path / "out", b"one")


Make = Callable[[str], None]


@pytest.fixture
def make(account: str) -> Make:
    """A bucket that tells somebody else already."""

    def made(name: str) -> None:
        aws = connect(account)
        where = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}
        aws.call("s3", "create_bucket", Bucket=name, **where)
        told = {"LambdaFunctionConfigurations": [THEIRS], "QueueConfigurations": [HEARD]}
        aws.call("s3", "put_bucket_notification_configuration", Bucket=name, NotificationConfiguration=told)

    return made


def told(aws: Aws, bucket: str) -> list[tuple[str, list[str], list[str]]]:
    """Whom it tells of what, where its keys begin how."""
    found = aws.call("s3", "get_bucket_notification_configuration", Bucket=bucket)
    assert found["QueueConfigurations"] == [HEARD], "it was there before"
    return sorted(
        (
            one["LambdaFunctionArn"],
            one["Events"],
            [rule["Value"] for rule in one.get("Filter", {}).get("Key", {}).get("FilterRules", [])],
        )
        for one in found["LambdaFunctionConfigurations"]
    )


def doors(aws: Aws) -> list[Any]:
    found = aws.find("lambda", "get_policy", FunctionName="small", Qualifier="live")
    statements = json.loads(found["Policy"])["Statement"] if found else []
    return [(one["Principal"], one["Action"], one["Condition"]) for one in statements]


def door(bucket: str) -> tuple[Any, ...]:
    only = {"ArnLike": {"AWS:SourceArn": f"arn:aws:s3:::{bucket}"}, "StringEquals": {"AWS:SourceAccount": ACCOUNT}}
    return {"Service": "s3.amazonaws.com"}, "lambda:InvokeFunction", only


OTHERS: tuple[Any, ...] = (THEIRS["LambdaFunctionArn"], THEIRS["Events"], [])
OURS = (LIVE, ["s3:ObjectCreated:*"], ["in/"])


def test_once_again_and_no_more(account: str, artifact: Artifact, make: Make) -> None:
    make("work")
    wish = Wanted("small", artifact, buckets=(place("s3://work/in/"),))
    _, writes = deploy(account, wish)
    assert writes[-2:] == [("lambda", "add_permission"), ("s3", "put_bucket_notification_configuration")]
    aws = connect(account)
    assert told(aws, "work") == [OURS, OTHERS] and doors(aws) == [door("work")]
    allowed = aws.call("iam", "get_role_policy", RoleName="coldpress-small-eu-west-1", PolicyName=role.POLICY)
    (_, read) = allowed["PolicyDocument"]["Statement"]
    assert (read["Action"], read["Resource"]) == (["s3:GetObject"], "arn:aws:s3:::work/in/*")
    assert deploy(account, wish)[1] == []
    more = Wanted("small", artifact, buckets=(place("s3://work/in"), place("s3://work/other")))
    assert ("lambda", "add_permission") not in deploy(account, more)[1]
    assert told(aws, "work") == [OURS, (LIVE, OURS[1], ["other/"]), OTHERS]
    deploy(account, Wanted("small", artifact))
    assert told(aws, "work") == [OTHERS] and doors(aws) == []
    assert deploy(account, Wanted("small", artifact))[1] == []


def test_all_of_a_bucket(account: str, artifact: Artifact, make: Make) -> None:
    make("work")
    deploy(account, Wanted("small", artifact, buckets=(place("s3://work"),)))
    assert told(connect(account), "work") == [(LIVE, OURS[1], []), OTHERS]


def test_what_is_wrong(account: str, artifact: Artifact) -> None:
    with pytest.raises(DeployError, match="there is no bucket nowhere: make it in eu-west-1, or look at --bucket"):
        plan(connect(account), Wanted("small", artifact, buckets=(place("s3://nowhere"),)))
    for places, sink, says in (
        (("s3://work", "s3://work/in"), "log", r"s3://work holds s3://work/in: S3 tells"),
        (("s3://work/in", "s3://work/in"), "log", "holds s3://work/in"),
        (("s3://work/in",), "s3://work/in/answers", "answers in s3://work/in/answers would be asked again"),
        (("s3://work",), "s3://work/out", "would be asked again, for ever"),
    ):
        with pytest.raises(UsageError, match=says):
            Wanted("small", artifact, buckets=tuple(map(place, places)), sink=Sink.parse(sink))
    Wanted("small", artifact, buckets=(place("s3://work/in"),), sink=Sink.parse("s3://work/in-answers"))
    with pytest.raises(UsageError, match="--bucket 'work': 'work' is not a bucket's name"):
        place("work") and place("s3://w")


def test_killed_after_each_call_and_run_again(account: str, artifact: Artifact, make: Make) -> None:
    """Making, changing from one bucket to another, taking away: others' notifications are there all the time."""
    for name in ("old", "work"):
        make(name)
    first = Wanted("small", artifact, buckets=(place("s3://old/in"),))
    then = Wanted("small", artifact, buckets=(place("s3://work/in"),))
    aws = connect(account)
    for died in range(200):
        deploy(account, first)
        assert told(aws, "old") == [OURS, OTHERS] and told(aws, "work") == [OTHERS]
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = died
        try:
            plan(mortal, then).run()
            break
        except Killed:
            assert OTHERS in told(aws, "old") and OTHERS in told(aws, "work")
            deploy(account, then)
        assert told(aws, "old") == [OTHERS] and told(aws, "work") == [OURS, OTHERS], (
            f"killed after {mortal.calls[-1]}"
        )
        assert doors(aws) == [door("work")] and deploy(account, then)[1] == []
    assert died > 10
    for left in range(200):
        deploy(account, then)
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = left
        try:
            delete(mortal, "small").run()
            break
        except Killed:
            try:
                delete(aws, "small").run()
            except DeployError as error:  # it was killed after the last call
                assert "there is no function small" in str(error)
        assert told(aws, "work") == [OTHERS], f"killed after {mortal.calls[-1]}"
    assert left > 8 and told(aws, "work") == [OTHERS]
