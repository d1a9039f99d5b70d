"""Buckets that tell the alias of objects that were made there: a permission, and a notification of the bucket's.

What a bucket tells others stays as it is: S3 takes all of it in one call, so it is read anew right before."""

import hashlib
from collections.abc import Callable
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.alias import arn
from coldpress.deploy.parts.code import owned
from coldpress.deploy.places import Place
from coldpress.deploy.steps import CHANGE, CREATE, DELETE, Step, keep
from coldpress.deploy.wanted import ALIAS, Wanted
from coldpress.errors import DeployError

_SID = "coldpress-bucket-"
_EVENTS = ["s3:ObjectCreated:*"]
_LISTED = "LambdaFunctionConfigurations"
_HASH_DIGITS = 12


def steps(aws: Aws, wanted: Wanted, policy: dict[str, Any]) -> list[Step]:
    """`policy`: what the alias allows to whom. It also says which buckets were told to tell it."""
    if aws.local:
        return [keep(f"bucket {one.bucket}", "the local Lambda hears of none") for one in wanted.buckets]
    allowed = _allowed(policy)
    made = []
    for bucket in {one.bucket: None for one in wanted.buckets}:
        places = [one for one in wanted.buckets if one.bucket == bucket]
        made += _told(aws, wanted.name, bucket, places, is_allowed=bucket in allowed)
    gone = [bucket for bucket in allowed if bucket not in {one.bucket for one in wanted.buckets}]
    return made + [_gone(aws, wanted.name, bucket) for bucket in gone]


def ended(aws: Aws, name: str, policy: dict[str, Any]) -> list[Step]:
    """Of a function that goes."""
    return [] if aws.local else [_gone(aws, name, bucket) for bucket in _allowed(policy)]


def _allowed(policy: dict[str, Any]) -> list[str]:
    found = [one for one in policy.get("Statement", []) if str(one.get("Sid", "")).startswith(_SID)]
    sources = [(one.get("Condition") or {}).get("ArnLike", {}).get("AWS:SourceArn", "") for one in found]
    return [str(one).rpartition(":")[2] for one in sources if one]


def _sid(bucket: str) -> str:
    return _SID + hashlib.sha256(bucket.encode()).hexdigest()[:_HASH_DIGITS]


def _notification(aws: Aws, name: str, place: Place) -> dict[str, Any]:
    rules = [{"Name": "prefix", "Value": place.below}]
    mark = hashlib.sha256(place.below.encode()).hexdigest()[:_HASH_DIGITS]
    return {
        "Id": f"coldpress-{name}-{mark}",
        "LambdaFunctionArn": arn(aws, name),
        "Events": _EVENTS,
        **({"Filter": {"Key": {"FilterRules": rules}}} if place.prefix else {}),
    }


def _told(aws: Aws, name: str, bucket: str, places: list[Place], *, is_allowed: bool) -> list[Step]:
    wants = [_notification(aws, name, one) for one in places]
    words = f"objects made below {', '.join(map(str, places))} are asked"
    have = [_plain(one) for one in _ours(aws, name, _read(aws, bucket))]
    made = []
    if not is_allowed:
        made.append(
            Step(CREATE, f"permission {_sid(bucket)}", f"{bucket} may invoke it", _allow(aws, name, bucket))
        )
    if sorted(have, key=str) == sorted(map(_plain, wants), key=str):
        return [*made, keep(f"bucket {bucket}", words)]
    return [*made, Step(CHANGE if have else CREATE, f"bucket {bucket}", words, _tell(aws, name, bucket, wants))]


def _read(aws: Aws, bucket: str) -> dict[str, Any]:
    found = aws.find("s3", "get_bucket_notification_configuration", **owned(aws, bucket))
    if found is None:
        raise DeployError(f"there is no bucket {bucket}: make it in {aws.region}, or look at --bucket")
    return {name: value for name, value in found.items() if name != "ResponseMetadata"}


def _ours(aws: Aws, name: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    begins = f"coldpress-{name}-"
    return [
        one
        for one in found.get(_LISTED, [])
        if one.get("LambdaFunctionArn") == arn(aws, name) and str(one.get("Id", "")).startswith(begins)
    ]


def _plain(has: dict[str, Any]) -> tuple[Any, ...]:
    """What it says: S3 writes its own names with other letters than it is told."""
    rules = (has.get("Filter") or {}).get("Key", {}).get("FilterRules", [])
    return has["Events"], sorted((str(one["Name"]).lower(), one["Value"]) for one in rules)


def _allow(aws: Aws, name: str, bucket: str) -> Callable[[], None]:
    """That bucket of that account: a name can become somebody else's."""
    return lambda: aws.call(
        "lambda",
        "add_permission",
        FunctionName=name,
        Qualifier=ALIAS,
        StatementId=_sid(bucket),
        Action="lambda:InvokeFunction",
        Principal="s3.amazonaws.com",
        SourceArn=f"arn:{aws.partition}:s3:::{bucket}",
        SourceAccount=aws.account,
    )


def _tell(aws: Aws, name: str, bucket: str, wants: list[dict[str, Any]]) -> Callable[[], None]:
    def act() -> None:
        found = _read(aws, bucket)
        ours = _ours(aws, name, found)
        others = [one for one in found.get(_LISTED, []) if one not in ours]
        whole = {**found, _LISTED: others + wants}
        said = {key: value for key, value in whole.items() if value or key != _LISTED}
        aws.call(
            "s3", "put_bucket_notification_configuration", **owned(aws, bucket), NotificationConfiguration=said
        )

    return act


def _gone(aws: Aws, name: str, bucket: str) -> Step:
    """The permission goes last: it is how the bucket is known."""
    untell = _tell(aws, name, bucket, [])

    def act() -> None:
        found = aws.find("s3", "get_bucket_notification_configuration", **owned(aws, bucket))
        if found is not None and _ours(aws, name, found):
            untell()
        named = {"FunctionName": name, "Qualifier": ALIAS, "StatementId": _sid(bucket)}
        aws.drop("lambda", "remove_permission", **named)

    return Step(DELETE, f"bucket {bucket}", "its objects are asked no more; the bucket stays", act)
