"""Models that lie in S3: put there once each, before a version that reads them is live, and never changed."""

import base64
from pathlib import Path
from typing import Any

from coldpress.artifact import STORE
from coldpress.deploy.aws import Aws
from coldpress.deploy.steps import CREATE, Step, keep
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError


def steps(aws: Aws, wanted: Wanted) -> list[Step]:
    place = wanted.store
    if place is None:
        return []
    if aws.local:  # which has no S3: the function asks the one that its environment names
        return [keep("models", f"they have to lie at {place}")]
    if aws.find("s3", "head_bucket", Bucket=place.bucket) is None:
        raise DeployError(
            f"{wanted.artifact.path} was built for models at {place}, and there is no bucket {place.bucket}: "
            f"make it (aws s3 mb s3://{place.bucket} --region {aws.region}), or build with another --models-at"
        )
    made = []
    for path in sorted(path for path in (wanted.artifact.path / STORE).rglob("*") if path.is_file()):
        key = f"{place.below}{path.parent.name}/{path.name}"
        name, size = f"s3://{place.bucket}/{key}", path.stat().st_size
        there = aws.find("s3", "head_object", Bucket=place.bucket, Key=key)
        if there is not None and there["ContentLength"] == size:
            made.append(keep(name))
        else:
            made.append(Step(CREATE, name, f"{size / 1e6:.1f} MB", _upload(aws, place.bucket, key, path)))
    return made


def _upload(aws: Aws, bucket: str, key: str, path: Path) -> Any:
    def upload() -> None:
        # The folder is the file's own hash: S3 refuses it if it is not, on the way or here.
        checksum = base64.b64encode(bytes.fromhex(path.parent.name)).decode()
        with path.open("rb") as file:
            aws.call("s3", "put_object", Bucket=bucket, Key=key, Body=file, ChecksumSHA256=checksum)

    return upload
