"""The Function URL of the alias, and who may call it."""

import json
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.steps import CHANGE, CREATE, DELETE, Facts, Step, keep
from coldpress.deploy.wanted import ALIAS, Wanted

#: both are asked for when a URL is open: to be called by URL, and by URL only
OPEN: dict[str, dict[str, Any]] = {
    "coldpress-url": {"Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "NONE"},
    "coldpress-invoke": {"Action": "lambda:InvokeFunction", "InvokedViaFunctionUrl": True},
}


def steps(
    aws: Aws, wanted: Wanted, facts: Facts, found: dict[str, Any] | None, policy: dict[str, Any]
) -> list[Step]:
    """`found` is the URL's configuration, `policy` what the alias allows to whom."""
    named = {"FunctionName": wanted.name, "Qualifier": ALIAS}
    allowed = {str(one.get("Sid")) for one in policy.get("Statement", [])}
    open_now = [sid for sid in OPEN if sid in allowed]
    if wanted.url == "none":
        made = [_close(aws, named, sid) for sid in open_now]
        if found is not None:
            made.insert(0, Step(DELETE, "URL", found["FunctionUrl"], lambda: _delete(aws, named)))
        return made
    auth = "AWS_IAM" if wanted.url == "iam" else "NONE"
    made = []
    if found is None:
        made.append(Step(CREATE, "URL", _words(wanted), lambda: _create(aws, named, auth, facts)))
    else:
        facts.url = found["FunctionUrl"]
        if found["AuthType"] != auth:
            made.append(Step(CHANGE, "URL", _words(wanted), lambda: _change(aws, named, auth)))
        else:
            made.append(keep("URL", facts.url))
    if auth == "AWS_IAM":
        return made + [_close(aws, named, sid) for sid in open_now]
    return made + [_open(aws, named, sid) for sid in OPEN if sid not in allowed]


def closing(aws: Aws, name: str) -> list[Step]:
    """Shut an open one: for those whom IAM allows, and nobody else."""
    named = {"FunctionName": name, "Qualifier": ALIAS}
    policy = read_policy(aws.find("lambda", "get_policy", **named))
    allowed = {str(one.get("Sid")) for one in policy.get("Statement", [])}
    words = "closed to the network: that version has no guard"
    shut = Step(CHANGE, "URL", words, lambda: _change(aws, named, "AWS_IAM"))
    return [shut, *(_close(aws, named, sid) for sid in OPEN if sid in allowed)]


def read_policy(found: dict[str, Any] | None) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(found["Policy"]) if found else {}
    return parsed


def _words(wanted: Wanted) -> str:
    return {
        "iam": "for those whom IAM allows",
        "token": "open to the network, guarded by a bearer token",
        "public": f"open to everybody; at most {wanted.concurrency} at once",
    }[wanted.url]


def _create(aws: Aws, named: dict[str, str], auth: str, facts: Facts) -> None:
    facts.url = aws.call("lambda", "create_function_url_config", **named, AuthType=auth)["FunctionUrl"]


def _change(aws: Aws, named: dict[str, str], auth: str) -> None:
    aws.call("lambda", "update_function_url_config", **named, AuthType=auth)


def _delete(aws: Aws, named: dict[str, str]) -> None:
    aws.call("lambda", "delete_function_url_config", **named)


def _open(aws: Aws, named: dict[str, str], sid: str) -> Step:
    def act() -> None:
        aws.call("lambda", "add_permission", **named, StatementId=sid, Principal="*", **OPEN[sid])

    return Step(CREATE, f"permission {sid}", str(OPEN[sid]["Action"]), act)


def _close(aws: Aws, named: dict[str, str], sid: str) -> Step:
    def act() -> None:
        aws.drop("lambda", "remove_permission", **named, StatementId=sid)

    return Step(DELETE, f"permission {sid}", str(OPEN[sid]["Action"]), act)
