"""The code: sent with the call where it is small, through a bucket where it is not."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.steps import CREATE, Step, keep
from coldpress.deploy.wanted import Wanted
from coldpress.errors import ArtifactError

#: Lambda takes as much in a call
DIRECT = 50_000_000


def zip_bytes(wanted: Wanted) -> bytes:
    path = wanted.artifact.zip
    if path is None:
        raise ArtifactError(f"{wanted.artifact.path} has no function.zip: build it with --package zip")
    return path.read_bytes()


def code_sha256(content: bytes) -> str:
    """As Lambda names it."""
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def bucket_name(aws: Aws) -> str:
    return f"coldpress-{aws.account}-{aws.region}"


def steps(aws: Aws, wanted: Wanted, needed: bool) -> tuple[list[Step], Callable[[], dict[str, Any]]]:
    """What has to be there before a function can be given this code, and how the call names it."""
    content = zip_bytes(wanted)
    if len(content) <= DIRECT or aws.local:
        return [], lambda: {"ZipFile": content}
    bucket = bucket_name(aws)
    key = f"{wanted.name}/{hashlib.sha256(content).hexdigest()}.zip"
    named = {"S3Bucket": bucket, "S3Key": key}
    if not needed:
        return [], lambda: named
    made = []
    if aws.find("s3", "head_bucket", Bucket=bucket) is None:
        made.append(Step(CREATE, f"bucket {bucket}", "private", lambda: _create_bucket(aws, bucket)))
    if not made and aws.find("s3", "head_object", Bucket=bucket, Key=key) is not None:
        return [keep(f"s3://{bucket}/{key}")], lambda: named

    def upload() -> None:
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        aws.call("s3", "put_object", Bucket=bucket, Key=key, Body=content, ChecksumSHA256=digest)

    made.append(Step(CREATE, f"s3://{bucket}/{key}", f"{len(content) / 1e6:.1f} MB", upload))
    return made, lambda: named


def _create_bucket(aws: Aws, bucket: str) -> None:
    where = {} if aws.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
    aws.call("s3", "create_bucket", Bucket=bucket, **where)
    closed = dict.fromkeys(
        ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True
    )
    aws.call("s3", "put_public_access_block", Bucket=bucket, PublicAccessBlockConfiguration=closed)
