"""A zip: sent with the call where it is small, through a bucket where it is not."""

import base64
import hashlib
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.package import Package
from coldpress.deploy.steps import CHANGE, CREATE, Step, keep
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


def owned(aws: Aws, bucket: str) -> dict[str, str]:
    """Its name can be guessed: one that a stranger made first is not ours to use."""
    return {"Bucket": bucket, "ExpectedBucketOwner": aws.account}


def package(aws: Aws, wanted: Wanted) -> Package:
    content = zip_bytes(wanted)
    megabytes = len(content) / 1e6
    if len(content) <= DIRECT or aws.local:
        return Package(code_sha256(content), megabytes, lambda: [], lambda: {"ZipFile": content})
    bucket = bucket_name(aws)
    named = {"S3Bucket": bucket, "S3Key": f"{wanted.name}/{hashlib.sha256(content).hexdigest()}.zip"}
    return Package(
        code_sha256(content), megabytes, lambda: _through_bucket(aws, content, named), lambda: dict(named)
    )


def _through_bucket(aws: Aws, content: bytes, named: dict[str, Any]) -> list[Step]:
    bucket, key = named["S3Bucket"], named["S3Key"]
    own = owned(aws, bucket)
    made = []
    if aws.find("s3", "head_bucket", **own) is None:
        made.append(Step(CREATE, f"bucket {bucket}", "private", lambda: _create_bucket(aws, bucket)))
    else:
        if aws.find("s3", "get_public_access_block", **own) is None:
            made.append(Step(CHANGE, f"bucket {bucket}", "private", lambda: _close_bucket(aws, bucket)))
        if aws.find("s3", "head_object", **own, Key=key) is not None:
            return [*made, keep(f"s3://{bucket}/{key}")]

    def upload() -> None:
        aws.call("s3", "put_object", **own, Key=key, Body=content, ChecksumSHA256=code_sha256(content))

    return [*made, Step(CREATE, f"s3://{bucket}/{key}", f"{len(content) / 1e6:.1f} MB", upload)]


def _create_bucket(aws: Aws, bucket: str) -> None:
    where = {} if aws.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
    aws.call("s3", "create_bucket", Bucket=bucket, **where)
    _close_bucket(aws, bucket)


def _close_bucket(aws: Aws, bucket: str) -> None:
    closed = dict.fromkeys(
        ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True
    )
    aws.call("s3", "put_public_access_block", **owned(aws, bucket), PublicAccessBlockConfiguration=closed)
