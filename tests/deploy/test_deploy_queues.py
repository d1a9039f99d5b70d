"""Queues and sinks against moto's server: mappings that come, change and go, and roles that may do no more."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploy_account import Killed, Mortal, connect, deploy, pressed
from test_deploy_refusals import Patient, Refusals, refusing

from coldpress.artifact import Artifact
from coldpress.deploy import aws as calls
from coldpress.deploy.aws import Aws
from coldpress.deploy.manage import delete, rollback, status
from coldpress.deploy.parts import role
from coldpress.deploy.plan import plan
from coldpress.deploy.queues import Queue
from coldpress.deploy.sink import Sink
from coldpress.deploy.steps import KEEP
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError, UsageError

ACCOUNT = "123456789012"
ROLE = "coldpress-small-eu-west-1"
LIVE = f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:small:live"
RECEIVE = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]


def arn(name: str) -> str:
    return f"arn:aws:sqs:eu-west-1:{ACCOUNT}:{name}"


def queue(name: str) -> Queue:
    return Queue.parse("--queue", arn(name))


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    return pressed(tmp_path / "out", b"one")


Make = Callable[..., Queue]


@pytest.fixture
def make(account: str) -> Make:
    def made(name: str, **attributes: str) -> Queue:
        connect(account).call("sqs", "create_queue", QueueName=name, Attributes=attributes)
        return queue(name)

    return made


def mappings(aws: Aws) -> dict[str, tuple[Any, ...]]:
    found = aws.call("lambda", "list_event_source_mappings")["EventSourceMappings"]
    return {
        one["EventSourceArn"].rpartition(":")[2]: (
            one["BatchSize"],
            one["MaximumBatchingWindowInSeconds"],
            one["FunctionResponseTypes"],
            aws.call("lambda", "list_tags", Resource=one["EventSourceMappingArn"])["Tags"],
        )
        for one in found
    }


def allowed(aws: Aws) -> list[tuple[list[str], str]]:
    found = aws.call("iam", "get_role_policy", RoleName=ROLE, PolicyName=role.POLICY)["PolicyDocument"]
    return [(one["Action"], one["Resource"]) for one in found["Statement"][1:]]


def usual(size: int = 10, window: int = 0) -> tuple[Any, ...]:
    return size, window, ["ReportBatchItemFailures"], {"made-by": "coldpress"}


def test_once_and_again(account: str, artifact: Artifact, make: Make) -> None:
    wish = Wanted("small", artifact, queues=(make("jobs"),), sink=Sink.parse("s3://answers/small/"))
    _, writes = deploy(account, wish)
    assert writes[-1] == ("lambda", "create_event_source_mapping")
    aws = connect(account)
    assert mappings(aws) == {"jobs": usual()}
    assert allowed(aws) == [(["s3:PutObject"], "arn:aws:s3:::answers/small/*"), (RECEIVE, arn("jobs"))]
    live = aws.call("lambda", "get_function_configuration", FunctionName="small", Qualifier="live")
    assert live["Environment"]["Variables"]["COLDPRESS_SINK"] == "s3://answers/small/"
    made = aws.call("iam", "get_role", RoleName=ROLE)["Role"]
    assert made["Description"] == (
        "What the function small may do: write its log, put answers to S3, take messages of queues."
    )
    assert deploy(account, wish)[1] == []


def test_the_mapping_is_the_alias(account: str, artifact: Artifact, make: Make) -> None:
    deploy(account, Wanted("small", artifact, queues=(make("jobs"),)))
    aws = connect(account)
    assert aws.call("lambda", "list_event_source_mappings", FunctionName="small")["EventSourceMappings"] == []
    found = aws.call("lambda", "list_event_source_mappings", FunctionName=LIVE)
    assert len(found["EventSourceMappings"]) == 1


def test_a_changed_batch_is_changed_in_place(account: str, artifact: Artifact, make: Make) -> None:
    jobs = make("jobs")
    deploy(account, Wanted("small", artifact, queues=(jobs,)))
    wish = Wanted("small", artifact, queues=(jobs,), batch_size=500)
    assert deploy(account, wish)[1] == [("lambda", "update_event_source_mapping")]
    assert mappings(connect(account)) == {"jobs": usual(500, 1)}  # Lambda waits for more than ten, or refuses
    assert deploy(account, wish)[1] == []


def test_a_queue_that_is_no_longer_wanted(account: str, artifact: Artifact, make: Make) -> None:
    """It is unmapped, then the role may take nothing of it; the other one stays as it was."""
    jobs, more = make("jobs"), make("more")
    deploy(account, Wanted("small", artifact, queues=(jobs, more)))
    _, writes = deploy(account, Wanted("small", artifact, queues=(more,)))
    assert writes == [("lambda", "delete_event_source_mapping"), ("iam", "put_role_policy")]
    aws = connect(account)
    assert mappings(aws) == {"more": usual()} and allowed(aws) == [(RECEIVE, arn("more"))]
    deploy(account, Wanted("small", artifact))
    assert mappings(aws) == {} and allowed(aws) == []
    made = aws.call("iam", "get_role", RoleName=ROLE)["Role"]
    assert made["Description"] == "What the function small may do: write its log."
    assert deploy(account, Wanted("small", artifact))[1] == []


def test_the_old_sink_may_be_written_to_until_the_new_version_is_live(account: str, artifact: Artifact) -> None:
    """Requests that run meanwhile have an answer to put away."""
    deploy(account, Wanted("small", artifact, sink=Sink.parse("s3://old")))
    aws = connect(account)
    made = plan(aws, Wanted("small", artifact, sink=Sink.parse("s3://new")))
    seen = []
    made.run(lambda step: seen.append((step.what, [resource for _, resource in allowed(aws)])))
    old, new = "arn:aws:s3:::old/*", "arn:aws:s3:::new/*"
    at = dict(seen)
    assert at["version of small"] == at["alias live"] == [new, old]
    assert seen[-1][0] == f"role {ROLE}" and allowed(aws) == [(["s3:PutObject"], new)]


def test_going_back_its_answers_may_go_where_they_went(account: str, artifact: Artifact) -> None:
    old, new = "arn:aws:s3:::old/*", arn("new")
    deploy(account, Wanted("small", artifact, sink=Sink.parse("s3://old")))
    deploy(account, Wanted("small", artifact, sink=Sink.parse(new)))
    aws = connect(account)
    assert [resource for _, resource in allowed(aws)] == [new]
    back = rollback(aws, "small")
    assert [(step.what, step.detail) for step in back.steps] == [
        (f"role {ROLE}", f"may do again: s3:PutObject on {old}"),
        ("alias live", "from version 2 to 1"),
    ]
    back.run()
    assert [resource for _, resource in allowed(aws)] == [new, old]
    forth = rollback(aws, "small", "2")
    assert [step.what for step in forth.steps] == ["alias live"], "it may write there still"
    forth.run()
    deploy(account, Wanted("small", artifact, sink=Sink.parse(new)))
    assert [resource for _, resource in allowed(aws)] == [new], (
        "what nobody needs is gone with the next deployment"
    )


def test_going_back_a_role_of_somebody_elses_is_told_what_it_needs(account: str, artifact: Artifact) -> None:
    aws = connect(account)
    made = aws.call("iam", "create_role", RoleName="theirs", AssumeRolePolicyDocument=json.dumps(role.TRUST))
    theirs = made["Role"]["Arn"]
    for sink in ("s3://old", "s3://new"):
        deploy(account, Wanted("small", artifact, role=theirs, sink=Sink.parse(sink)))
    told, _ = rollback(aws, "small").steps
    assert (told.what, told.detail) == ("the role must allow", "s3:PutObject on arn:aws:s3:::old/*")
    assert not told.writes


def test_status_tells_of_queues(account: str, artifact: Artifact, make: Make) -> None:
    deploy(account, Wanted("small", artifact, queues=(make("jobs"), make("more")), batch_size=7))
    assert sorted(status(connect(account), "small").queues) == [
        "jobs: 7 messages at once at most, enabled",
        "more: 7 messages at once at most, enabled",
    ]


def test_others_mappings_are_left_alone(account: str, artifact: Artifact, make: Make) -> None:
    make("theirs")
    deploy(account, Wanted("small", artifact, queues=(make("jobs"),)))
    aws = connect(account)
    theirs = {"FunctionName": LIVE, "EventSourceArn": arn("theirs"), "MaximumBatchingWindowInSeconds": 0}
    aws.call("lambda", "create_event_source_mapping", **theirs, FunctionResponseTypes=["ReportBatchItemFailures"])
    _, writes = deploy(account, Wanted("small", artifact))
    assert writes.count(("lambda", "delete_event_source_mapping")) == 1
    assert list(mappings(aws)) == ["theirs"]
    steps = delete(aws, "small")
    assert [step.detail for step in steps.steps if step.verb == KEEP] == [
        "somebody else maps it to the alias: take the mapping away by hand"
    ]


def test_a_queue_for_answers(account: str, artifact: Artifact) -> None:
    sink = Sink.parse(f"https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/answers")
    deploy(account, Wanted("small", artifact, sink=sink))
    assert allowed(connect(account)) == [(["sqs:SendMessage"], arn("answers"))]
    assert deploy(account, Wanted("small", artifact, sink=sink))[1] == []


def test_the_log_needs_nothing_more(account: str, artifact: Artifact) -> None:
    wish = Wanted("small", artifact, sink=Sink.parse("log"))
    deploy(account, wish)
    assert allowed(connect(account)) == [] and wish.environment()["COLDPRESS_SINK"] == "log"


def test_a_role_of_somebody_elses_is_told_what_it_needs(account: str, artifact: Artifact, make: Make) -> None:
    aws = connect(account)
    trust = '{"Version": "2012-10-17", "Statement": []}'
    theirs = aws.call("iam", "create_role", RoleName="theirs", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    wish = Wanted("small", artifact, role=theirs, queues=(make("jobs"),), sink=Sink.parse("s3://answers"))
    made = plan(aws, wish)
    assert [step.detail for step in made.steps if step.what == "the role must allow"] == [
        "s3:PutObject on arn:aws:s3:::answers/*",
        f"{', '.join(RECEIVE)} on {arn('jobs')}",
    ]
    made.run()
    assert not any(service == "iam" for service, _ in aws.writes[1:])


def test_a_queue_that_hides_too_short(account: str, artifact: Artifact, make: Make) -> None:
    jobs = make("jobs", VisibilityTimeout="20")
    with pytest.raises(DeployError, match=r"hides a message for 20 s, .* 30 s: Lambda .* --timeout 20, .*=180"):
        plan(connect(account), Wanted("small", artifact, queues=(jobs,)))
    assert connect(account).find("lambda", "get_function", FunctionName="small") is None
    near = Wanted("small", artifact, queues=(jobs,), timeout=10)
    (step,) = [one for one in plan(connect(account), near).steps if one.what == "queue jobs"]
    assert "hides them for 20 s, AWS recommends 60; no dead-letter queue" in step.detail
    aws = connect(account)
    make("dead")
    redrive = f'{{"deadLetterTargetArn": "{arn("dead")}", "maxReceiveCount": "5"}}'
    well = make("well", VisibilityTimeout="180", RedrivePolicy=redrive)
    (step,) = [
        one for one in plan(aws, Wanted("small", artifact, queues=(well,))).steps if one.what == "queue well"
    ]
    assert step.detail == "10 messages at once at most"


def test_what_is_wrong_with_a_queue(account: str, artifact: Artifact, make: Make) -> None:
    with pytest.raises(DeployError, match=r"there is no queue nowhere in eu-west-1 of account .* create-queue"):
        plan(connect(account), Wanted("small", artifact, queues=(queue("nowhere"),)))
    far = Queue.parse("--queue", f"arn:aws:sqs:us-east-1:{ACCOUNT}:jobs")
    with pytest.raises(DeployError, match=r"jobs is in us-east-1, .* in eu-west-1.*--region us-east-1"):
        plan(connect(account), Wanted("small", artifact, queues=(far,)))
    with pytest.raises(DeployError, match="jobs is in us-east-1"):
        plan(connect(account), Wanted("small", artifact, sink=Sink.parse(far.url)))
    jobs, ordered = queue("jobs"), queue("jobs.fifo")
    for wrong, says in (
        ({"queues": (jobs, jobs)}, "--queue jobs is there twice"),
        ({"queues": (jobs,), "sink": Sink.parse(arn("jobs"))}, "asked again, for ever: take another --sink"),
        ({"queues": (ordered,), "batch_size": 11}, r"--batch-size 11: Lambda takes 10 at most .* jobs\.fifo"),
        ({"batch_size": 0}, "--batch-size 0 is not from 1 to 10,000"),
        ({"sink": Sink.parse("log"), "env": {"COLDPRESS_SINK": "log"}}, "--sink sets COLDPRESS_SINK, and so does"),
    ):
        with pytest.raises(UsageError, match=says):
            Wanted(**{"name": "small", "artifact": artifact, **wrong})  # type: ignore[arg-type]


def test_a_queue_that_keeps_its_order(account: str, artifact: Artifact, make: Make) -> None:
    """It has no window in which Lambda would wait."""
    wish = Wanted("small", artifact, queues=(make("jobs.fifo", FifoQueue="true"),))
    deploy(account, wish)
    (found,) = connect(account).call("lambda", "list_event_source_mappings")["EventSourceMappings"]
    assert "MaximumBatchingWindowInSeconds" not in found
    assert deploy(account, wish)[1] == []


MAP = ("POST", "/2015-03-31/event-source-mappings")
NOT_ALLOWED = "The function execution role does not have permissions to call ReceiveMessage on SQS"
IS_GOING = "An event source mapping with SQS arn (...) and function (...) already exists."


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "InvalidParameterValueException", NOT_ALLOWED),  # of a policy that has not come everywhere yet
        (409, "ResourceConflictException", IS_GOING),  # of one that is being deleted
        (400, "ResourceInUseException", "it is in use"),
    ],
)
def test_what_passes_by_itself_is_waited_for(
    account: str, artifact: Artifact, make: Make, status: int, code: str, words: str
) -> None:
    wish = Wanted("small", artifact, queues=(make("jobs"),))
    with refusing(Refusals(account, MAP, status, code, words, times=3)) as proxy:
        plan(Patient(proxy), wish).run()
    assert mappings(connect(account)) == {"jobs": usual()}


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (NOT_ALLOWED, "the role must allow sqs:ReceiveMessage, sqs:DeleteMessage"),
        ("Queue visibility timeout: 30 seconds is less than Function timeout: 60 seconds", "a shorter --timeout"),
    ],
)
def test_what_lambda_refuses_for_ever(
    account: str, artifact: Artifact, make: Make, monkeypatch: pytest.MonkeyPatch, words: str, fix: str
) -> None:
    monkeypatch.setattr(calls, "PATIENCE", 0.0)
    wish = Wanted("small", artifact, queues=(make("jobs"),))
    refusals = Refusals(account, MAP, 400, "InvalidParameterValueException", words, times=99)
    with refusing(refusals) as proxy, pytest.raises(DeployError, match=fix):
        plan(Patient(proxy), wish).run()


def test_who_may_not_look(account: str, artifact: Artifact, make: Make) -> None:
    """Who has no queues needs no permission to list them."""
    wish = Wanted("small", artifact, queues=(make("jobs"),))
    deploy(account, Wanted("small", artifact))
    refusals = Refusals(account, ("GET", MAP[1]), 403, "AccessDeniedException", "not authorized", times=99)
    with refusing(refusals) as proxy:
        assert plan(Patient(proxy), Wanted("small", artifact)).changes == []
        with pytest.raises(DeployError, match="allow lambda:ListEventSourceMappings for them"):
            plan(Patient(proxy), wish)


def state(account: str) -> dict[str, Any]:
    aws = connect(account)
    return {
        "mappings": mappings(aws),
        "allowed": allowed(aws),
        "role": aws.call("iam", "get_role", RoleName=ROLE)["Role"]["Description"],
        "live": aws.call("lambda", "get_alias", FunctionName="small", Name="live")["FunctionVersion"],
        "env": aws.call("lambda", "get_function_configuration", FunctionName="small", Qualifier="live")[
            "Environment"
        ],
    }


@pytest.mark.parametrize("before", [None, "another"])
def test_killed_after_each_call_and_run_again(
    account: str, artifact: Artifact, make: Make, before: str | None
) -> None:
    """From nothing, and from another sink and another queue: the same end state, every time."""

    def start() -> Wanted:
        urllib.request.urlopen(urllib.request.Request(f"{account}/moto-api/reset", method="POST")).read()
        jobs, old = make("jobs"), make("old")
        if before:
            deploy(account, Wanted("small", artifact, queues=(old,), sink=Sink.parse("s3://old")))
        return Wanted("small", artifact, queues=(jobs,), batch_size=5, sink=Sink.parse("s3://new/at"))

    wish = start()
    deploy(account, wish)
    expected = state(account)
    assert expected["mappings"] == {"jobs": usual(5)}
    assert expected["allowed"] == [(["s3:PutObject"], "arn:aws:s3:::new/at/*"), (RECEIVE, arn("jobs"))]
    for died in range(100):
        wish = start()
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = died
        try:
            plan(mortal, wish).run()
            break
        except Killed:
            deploy(account, wish)
            assert state(account) == expected, f"killed after call {died + 1}: {mortal.calls[-1]}"
            assert deploy(account, wish)[1] == []
    assert died >= 10


def test_deleting_is_killed_after_each_call_and_run_again(account: str, artifact: Artifact, make: Make) -> None:
    """No mapping outlives its function, and the queue stays."""
    jobs = make("jobs")
    for died in range(100):
        deploy(account, Wanted("small", artifact, queues=(jobs,), sink=Sink.parse("s3://answers")))
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = died
        aws = connect(account)
        try:
            delete(mortal, "small").run()
            break
        except Killed:
            try:
                delete(aws, "small").run()
            except DeployError as error:  # it was killed after the last call
                assert "there is no function small" in str(error)
        assert mappings(aws) == {}, f"killed after call {died + 1}: {mortal.calls[-1]}"
        assert aws.find("iam", "get_role", RoleName=ROLE) is None
    assert died > 8 and mappings(aws) == {}
    assert aws.call("sqs", "get_queue_attributes", QueueUrl=jobs.url, AttributeNames=["QueueArn"])["Attributes"]
