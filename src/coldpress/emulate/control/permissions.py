"""A function's policy: who else may call it."""

import json
import re
from typing import Any
from uuid import uuid4

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Call, Said, one_of, text
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Function

_ACTION = re.compile(r"lambda:(\*|[a-zA-Z]+)")
_SID = re.compile(r"[a-zA-Z0-9_-]{1,100}")
_ACCOUNT = re.compile(r"\d{12}")


def add(plane: Plane, call: Call) -> Said:
    name, qualifier = call.target
    function, body = plane.draft(name, qualifier), call.body
    plane.version(function, qualifier)
    policy = function.policies.setdefault(qualifier, {"RevisionId": "", "Statement": []})
    _must_match(policy, body.get("RevisionId"))
    made = _statement(body, names.arn(name, qualifier))
    if any(one["Sid"] == made["Sid"] for one in policy["Statement"]):
        raise errors.conflict(
            f"The statement id ({made['Sid']}) provided already exists. "
            "Please provide a new statement id, or remove the existing statement."
        )
    policy["Statement"].append(made)
    policy["RevisionId"] = str(uuid4())
    plane.store.save(function)
    return {"Statement": json.dumps(made, separators=(",", ":"))}


def remove(plane: Plane, call: Call) -> None:
    name, qualifier = call.target
    function = plane.draft(name, qualifier)
    policy = _policy(function, qualifier)
    _must_match(policy, call.asked("RevisionId"))
    kept = [one for one in policy["Statement"] if one["Sid"] != call.path["StatementId"]]
    if len(kept) == len(policy["Statement"]):
        raise errors.not_found(f"Statement {call.path['StatementId']} is not found in resource policy.")
    if kept:
        function.policies[qualifier] = {"RevisionId": str(uuid4()), "Statement": kept}
    else:
        del function.policies[qualifier]
    plane.store.save(function)


def get(plane: Plane, call: Call) -> Said:
    name, qualifier = call.target
    function = plane.function(name, qualifier)
    plane.version(function, qualifier)
    policy = _policy(function, qualifier)
    whole = {"Version": "2012-10-17", "Id": "default", "Statement": policy["Statement"]}
    return {"Policy": json.dumps(whole, separators=(",", ":")), "RevisionId": policy["RevisionId"]}


def missing_for_all(function: Function, qualifier: str) -> list[str]:
    """What the policy lacks for everybody to use a URL without authentication: Lambda wants both."""
    statements = function.policies.get(qualifier, {}).get("Statement", [])

    def allows(action: str, kind: str, key: str, value: str) -> bool:
        return any(
            one["Principal"] == "*"
            and one["Action"] in (action, "lambda:*")
            and one.get("Condition", {}).get(kind, {}).get(key, value) == value
            for one in statements
        )

    lacking = []
    if not allows("lambda:InvokeFunctionUrl", "StringEquals", "lambda:FunctionUrlAuthType", "NONE"):
        lacking.append("lambda:InvokeFunctionUrl with FunctionUrlAuthType NONE")
    if not allows("lambda:InvokeFunction", "Bool", "lambda:InvokedViaFunctionUrl", "true"):
        lacking.append("lambda:InvokeFunction with InvokedViaFunctionUrl")
    return lacking


def _policy(function: Function, qualifier: str) -> dict[str, Any]:
    if qualifier not in function.policies:
        raise errors.not_found("The resource you requested does not exist.")
    return function.policies[qualifier]


def _must_match(policy: dict[str, Any], wanted: object) -> None:
    if wanted and wanted != policy["RevisionId"]:
        raise errors.other_revision("GetPolicy")


def _statement(body: Said, resource: str) -> dict[str, Any]:
    sid, action = text(body, "StatementId", 100) or "", text(body, "Action") or ""
    if not _SID.fullmatch(sid):
        raise errors.invalid(f"StatementId is {sid!r}: letters, digits, - and _, 1 to 100 of them")
    if not _ACTION.fullmatch(action):
        raise errors.invalid(f"Action is {action!r}: it must be like lambda:InvokeFunction")
    made: dict[str, Any] = {
        "Sid": sid,
        "Effect": "Allow",
        "Principal": _principal(text(body, "Principal") or ""),
        "Action": action,
        "Resource": resource,
    }
    equals = {
        "AWS:SourceAccount": text(body, "SourceAccount", 12),
        "lambda:EventSourceToken": text(body, "EventSourceToken"),
        "aws:PrincipalOrgID": text(body, "PrincipalOrgID", 34),
        "lambda:FunctionUrlAuthType": one_of(body, "FunctionUrlAuthType", ("NONE", "AWS_IAM")),
    }
    equals = {key: value for key, value in equals.items() if value}
    source = text(body, "SourceArn", 2048)
    condition: dict[str, Any] = {"StringEquals": equals} if equals else {}
    condition |= {"ArnLike": {"AWS:SourceArn": source}} if source else {}
    if body.get("InvokedViaFunctionUrl") is not None:
        via = "true" if body["InvokedViaFunctionUrl"] is True else "false"
        condition["Bool"] = {"lambda:InvokedViaFunctionUrl": via}
    if equals.get("lambda:FunctionUrlAuthType") and action != "lambda:InvokeFunctionUrl":
        raise errors.invalid("FunctionUrlAuthType is only supported for lambda:InvokeFunctionUrl action")
    return {**made, "Condition": condition} if condition else made


def _principal(said: str) -> str | dict[str, str]:
    if not said:
        raise errors.invalid("Principal is missing: *, an account, an ARN, or a service like s3.amazonaws.com")
    if said == "*":
        return said
    if _ACCOUNT.fullmatch(said):
        return {"AWS": f"arn:aws:iam::{said}:root"}
    return {"AWS": said} if said.startswith("arn:") else {"Service": said}
