"""Asking AWS who we are and what we may do, in three seconds or not at all.

The questions are asked in a thread of their own: names that nobody resolves, credential helpers that wait for a
person, and metadata services that are not there take longer than any time-out of a client.
"""

import os
import re
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

#: seconds; with what it takes to load boto3, three at most
PATIENCE = 2.5
_CONNECT, _READ = 1.0, 1.5
#: asks for an identity, and simulates policies, without one being set
_ANY_REGION = "us-east-1"
_ASSUMED = re.compile(r"arn:(aws[\w-]*):sts::(\d{12}):assumed-role/([^/]+)/.+")

#: what deploying takes: each action with its reason
NEEDED = {
    "lambda:GetFunction": "to see what is there",
    "lambda:GetFunctionConfiguration": "to wait until it is ready",
    "lambda:CreateFunction": "to make the function",
    "lambda:UpdateFunctionCode": "to change its code",
    "lambda:UpdateFunctionConfiguration": "to change its settings",
    "lambda:PublishVersion": "to fix what was tried as a version",
    "lambda:GetAlias": "to see which version is live",
    "lambda:CreateAlias": "to give the live version a name",
    "lambda:UpdateAlias": "to move traffic to a new version, and back",
    "lambda:InvokeFunction": "to try a version before it takes traffic",
    "iam:PassRole": "to give the function its role",
    "logs:DescribeLogGroups": "to see whether it has a log",
    "logs:CreateLogGroup": "to make its log",
    "logs:PutRetentionPolicy": "to keep no log for ever",
}
#: and what only some ways of deploying take
SOMETIMES = {
    "iam:GetRole": "a role of its own (or name one that is there)",
    "iam:CreateRole": "a role of its own (or name one that is there)",
    "iam:PutRolePolicy": "a role of its own (or name one that is there)",
    "iam:UpdateRole": "a role of its own (or name one that is there)",
    "ecr:CreateRepository": "an image",
    "ecr:GetAuthorizationToken": "an image",
    "ecr:PutImage": "an image",
    "ecr:UploadLayerPart": "an image",
    "s3:CreateBucket": "a zip above 50 MB",
    "s3:ListBucket": "a zip above 50 MB",
    "s3:GetObject": "a zip above 50 MB",
    "s3:PutObject": "a zip above 50 MB",
    "lambda:CreateFunctionUrlConfig": "a Function URL",
    "lambda:AddPermission": "a Function URL",
    "lambda:ListEventSourceMappings": "--queue",
    "lambda:CreateEventSourceMapping": "--queue",
    "lambda:UpdateEventSourceMapping": "--queue",
    "lambda:DeleteEventSourceMapping": "--queue",
    "lambda:ListTags": "--queue",
    "lambda:TagResource": "--queue",
    "sqs:GetQueueAttributes": "--queue",
    "s3:GetBucketNotification": "--bucket",
    "s3:PutBucketNotification": "--bucket",
    "lambda:PutFunctionConcurrency": "--url public",
    "lambda:PutProvisionedConcurrencyConfig": "--provisioned",
    "application-autoscaling:RegisterScalableTarget": "--autoscale",
    "application-autoscaling:PutScalingPolicy": "--autoscale",
}


@dataclass
class Said:
    """What was found on this machine and what AWS answered, as far as it got."""

    #: whether boto3 is
    installed: bool = False
    region: str | None = None
    #: where credentials were found, as botocore names it; empty for none
    found_in: str = ""
    account: str = ""
    arn: str = ""
    #: of asking who we are: its code, and its words
    code: str = ""
    error: str = ""
    #: seconds that this machine's clock is ahead
    ahead: float | None = None
    #: action → allowed, implicitDeny or explicitDeny; empty if nobody could tell, and why
    decisions: dict[str, str] = field(default_factory=dict)
    unsimulated: str = ""
    #: whether time ran out
    late: bool = False


def ask(patience: float = PATIENCE) -> Said:
    said = Said(region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))
    try:
        import boto3 as boto3
    except ImportError:
        return said
    said.installed = True
    asking = threading.Thread(target=_ask, args=(said,), name="doctor-aws", daemon=True)
    asking.start()
    asking.join(patience)
    # A copy: the thread may still be writing into its own.
    return replace(said, late=asking.is_alive(), decisions=dict(said.decisions))


def _ask(said: Said) -> None:
    from botocore.exceptions import ClientError

    try:
        _ask_all(said)
    except ClientError as error:
        said.code, said.error = _said_by(error)
        said.ahead = _ahead(error.response)
    except Exception as error:  # noqa: BLE001 - helpers, proxies and plug-ins fail in ways of their own
        said.code, said.error = type(error).__name__, str(error)


def _ask_all(said: Said) -> None:
    import boto3
    from botocore.config import Config

    session = boto3.Session()
    said.region = said.region or session.region_name
    found = session.get_credentials()
    if found is None:
        return
    said.found_in = str(found.method)
    quick = Config(connect_timeout=_CONNECT, read_timeout=_READ, retries={"total_max_attempts": 1})
    region = said.region or _ANY_REGION
    sts = session.client("sts", region_name=region, config=quick)
    try:
        answer = sts.get_caller_identity()
    finally:
        sts.close()
    said.ahead = _ahead(answer)
    said.account, said.arn = str(answer["Account"]), str(answer["Arn"])
    iam = session.client("iam", region_name=region, config=quick)
    try:
        _simulate(iam, said)
    finally:
        iam.close()


def _simulate(iam: Any, said: Said) -> None:
    """Nothing is done: AWS tells what it would say to each action."""
    from botocore.exceptions import ClientError

    if said.arn.endswith(":root"):
        said.decisions = dict.fromkeys([*NEEDED, *SOMETIMES], "allowed")
        return
    try:
        answer = iam.simulate_principal_policy(
            PolicySourceArn=_principal(iam, said.arn), ActionNames=[*NEEDED, *SOMETIMES]
        )
        said.decisions = {
            str(one["EvalActionName"]): str(one["EvalDecision"]) for one in answer["EvaluationResults"]
        }
    except ClientError as error:
        said.unsimulated = ": ".join(_said_by(error))
    except Exception as error:  # noqa: BLE001 - who cannot simulate says so in many ways
        said.unsimulated = f"{type(error).__name__}: {error}"


def _principal(iam: Any, arn: str) -> str:
    """Whose policies count: a session's are its role's, whose path only IAM knows."""
    session = _ASSUMED.fullmatch(arn)
    if session is None:
        return arn
    partition, account, role = session.groups()
    try:
        return str(iam.get_role(RoleName=role)["Role"]["Arn"])
    except Exception:  # noqa: BLE001 - then by the path that most roles have
        return f"arn:{partition}:iam::{account}:role/{role}"


def _said_by(error: Any) -> tuple[str, str]:
    told = error.response.get("Error", {})
    return str(told.get("Code", "unknown")), str(told.get("Message", ""))


def _ahead(answer: dict[str, Any]) -> float | None:
    """How far this clock is ahead of AWS's, by the date of an answer; refusals have one too."""
    text = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    if not text:
        return None
    try:
        theirs = parsedate_to_datetime(text)
    except ValueError:
        return None
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=UTC)
    return (datetime.now(UTC) - theirs).total_seconds()
