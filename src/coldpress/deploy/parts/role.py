"""The function's role: Lambda may take it. It may write the function's own log, take messages of its queues,
put answers where they go, and read its models. Nothing else."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.sink import VARIABLE, Sink
from coldpress.deploy.steps import CHANGE, CREATE, Facts, Step, different, keep
from coldpress.deploy.wanted import Wanted
from coldpress.errors import UsageError

#: the one document of a role's; named for its first line, and found by this name where it was made before
POLICY = "coldpress-log"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
#: what Lambda asks of a role that takes a queue's messages
RECEIVE = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
#: actions, and what they are done to
Needed = tuple[list[str], str]
_LONGEST = 64
_MADE = "What the function {name} may do: write its log"


@dataclass(frozen=True)
class Role:
    #: before the function is changed, and when nothing needs any more what it may do no longer
    before: list[Step] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)


def role_name(name: str, region: str) -> str:
    """Roles are the whole account's, functions a region's: both are in it, and what does not fit is a hash."""
    whole = f"coldpress-{name}-{region}"
    if len(whole) <= _LONGEST:
        return whole
    mark = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{whole[: _LONGEST - len(region) - len(mark) - 2]}-{mark}-{region}"


def described(wanted: Wanted) -> str:
    """For whoever finds it."""
    more = [", put answers to S3"] if wanted.sink and wanted.sink.place else []
    more += [", send answers to a queue"] if wanted.sink and wanted.sink.queue else []
    more += [", take messages of queues"] if wanted.queues else []
    more += [", read objects"] if wanted.buckets else []
    more += [", read models"] if wanted.store else []
    return f"{_MADE.format(name=wanted.name)}{''.join(more)}."


def is_ours(role: dict[str, Any]) -> bool:
    """Whether it was made here."""
    begin, end = _MADE.split("{name}")
    said = str(role.get("Description", ""))
    return said.startswith(begin) and end in said


def log_group(wanted: Wanted) -> str:
    return f"/aws/lambda/{wanted.name}"


def policy(aws: Aws, wanted: Wanted) -> dict[str, Any]:
    """The group is made beforehand, so the function need not be able to."""
    group = f"arn:{aws.partition}:logs:{aws.region}:{aws.account}:log-group:{log_group(wanted)}:*"
    log = {"Effect": "Allow", "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": group}
    return {"Version": "2012-10-17", "Statement": [log, *work(aws, wanted)]}


def work(aws: Aws, wanted: Wanted) -> list[dict[str, Any]]:
    """What events and their answers need of any role."""
    made = _answers(aws, wanted.sink)
    if wanted.store:
        made.append((["s3:GetObject"], f"arn:{aws.partition}:s3:::{wanted.store.objects}"))
    made += [(RECEIVE, queue.arn(aws.region)) for queue in wanted.queues]
    made += [(["s3:GetObject"], f"arn:{aws.partition}:s3:::{place.objects}") for place in wanted.buckets]
    return _allowing(made)


def _answers(aws: Aws, sink: Sink | None) -> list[Needed]:
    if sink and sink.place:
        return [(["s3:PutObject"], f"arn:{aws.partition}:s3:::{sink.place.objects}")]
    if sink and sink.queue:
        return [(["sqs:SendMessage"], sink.queue.arn(aws.region))]
    return []


def _allowing(needed: list[Needed]) -> list[dict[str, Any]]:
    return [{"Effect": "Allow", "Action": actions, "Resource": resource} for actions, resource in needed]


def again(aws: Aws, name: str, config: dict[str, Any]) -> list[Step]:
    """For an older version of a function, by its configuration: its answers may go where that one puts them."""
    said = ((config.get("Environment") or {}).get("Variables") or {}).get(VARIABLE)
    try:
        needs = _allowing(_answers(aws, Sink.parse(said))) if said and not aws.local else []
    except UsageError:  # set by hand, and nothing that could be allowed
        return []
    ours = role_name(name, aws.region)
    if not needs or config["Role"].rpartition("/")[2] != ours:
        return [keep("the role must allow", one) for one in in_words(needs)]
    has = aws.find("iam", "get_role_policy", RoleName=ours, PolicyName=POLICY)
    document = _parsed(has["PolicyDocument"]) if has else {"Version": TRUST["Version"]}
    have = _statements(document)
    lacks = [one for one in needs if one not in have]
    act = partial(_allow, aws, ours, {**document, "Statement": have + lacks})
    return [Step(CHANGE, f"role {ours}", f"may do again: {', '.join(in_words(lacks))}", act)] if lacks else []


def plan(aws: Aws, wanted: Wanted, facts: Facts) -> Role:
    """Reads only."""
    if aws.local:
        facts.role = f"arn:aws:iam::{aws.account}:role/local"
        return Role()
    if wanted.role:
        facts.role = wanted.role
        return Role([keep("role", wanted.role), *_asked_of_theirs(aws, wanted)])
    name = role_name(wanted.name, aws.region)
    found = aws.find("iam", "get_role", RoleName=name)
    if found is None:
        facts.role_is_new = True
        facts.role = f"arn:{aws.partition}:iam::{aws.account}:role/{name}"
        return Role([_creation(aws, wanted, facts, name)])
    facts.role = found["Role"]["Arn"]
    has = aws.find("iam", "get_role_policy", RoleName=name, PolicyName=POLICY)
    return _changes(aws, wanted, name, found["Role"], _parsed(has["PolicyDocument"]) if has else None)


def _asked_of_theirs(aws: Aws, wanted: Wanted) -> list[Step]:
    """A role that somebody gave is not touched."""
    return [keep("the role must allow", one) for one in in_words(work(aws, wanted))]


def in_words(statements: list[dict[str, Any]]) -> list[str]:
    return [f"{', '.join(one['Action'])} on {one['Resource']}" for one in statements]


def _words(aws: Aws, wanted: Wanted) -> str:
    actions = {action: None for one in work(aws, wanted) for action in one["Action"]}
    return f"may write its own log{''.join(f', {one}' for one in actions)}, and nothing else"


def _creation(aws: Aws, wanted: Wanted, facts: Facts, name: str) -> Step:
    def create() -> None:
        made = aws.call(
            "iam",
            "create_role",
            RoleName=name,
            AssumeRolePolicyDocument=json.dumps(TRUST),
            Description=described(wanted),
            Tags=[{"Key": key, "Value": value} for key, value in wanted.tags.items()],
        )
        facts.role = made["Role"]["Arn"]
        _allow(aws, name, policy(aws, wanted))

    return Step(CREATE, f"role {name}", _words(aws, wanted), create)


def _changes(aws: Aws, wanted: Wanted, name: str, role: dict[str, Any], has: dict[str, Any] | None) -> Role:
    """It gets what is new first, and what is old goes last: a version that runs meanwhile needs it."""
    what, wants, words = f"role {name}", policy(aws, wanted), _words(aws, wanted)
    have, want = _statements(has), wants["Statement"]
    old = [one for one in have if one not in want]
    lacks = any(one not in have for one in want) or different(has or {}, {"Version": wants["Version"]})
    untold = is_ours(role) and role["Description"] != described(wanted)

    def allow(statements: list[Any], *, last: bool) -> None:
        _allow(aws, name, {**wants, "Statement": statements})
        if last and untold:
            aws.call("iam", "update_role", RoleName=name, Description=described(wanted))

    before = Step(CHANGE, what, words, lambda: allow(want + old, last=not old))
    if old:
        gone = Step(CHANGE, what, f"{words}; what it had beside that goes", lambda: allow(want, last=True))
        return Role([before] if lacks else [], [gone])
    return Role([before] if lacks or untold else [keep(what)])


def _statements(document: dict[str, Any] | None) -> list[Any]:
    found = (document or {}).get("Statement", [])
    return found if isinstance(found, list) else [found]


def _allow(aws: Aws, name: str, document: dict[str, Any]) -> None:
    aws.call("iam", "put_role_policy", RoleName=name, PolicyName=POLICY, PolicyDocument=json.dumps(document))


def _parsed(document: Any) -> dict[str, Any]:
    """boto3 gives it parsed; others may not."""
    found: dict[str, Any] = json.loads(document) if isinstance(document, str) else document
    return found
