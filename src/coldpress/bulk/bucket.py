"""A job's buckets on AWS: what is in them, and what the job itself keeps there."""

import json
from collections.abc import Iterator
from typing import Any

from coldpress.bulk.job import OWN, Chunk, Input, Job, read_job
from coldpress.bulk.machine import stretches_key
from coldpress.bulk.places import Bucketed, Pattern, some
from coldpress.deploy.aws import Aws
from coldpress.errors import UsageError


def bucket_inputs(aws: Aws, source: Bucketed, to: Bucketed) -> tuple[Pattern, list[Input]]:
    """The objects that a pattern names; never what a job writes."""
    pattern = Pattern.parse(source.key)
    if source.bucket == to.bucket and to.below == pattern.base:
        raise UsageError(f"--to {to} is where the inputs are: choose another prefix, or another bucket")
    own = to.below if source.bucket == to.bucket and to.below.startswith(pattern.base) else None
    found = []
    for one in _listed(aws, source.bucket, pattern.base):
        name = pattern.name_of(one["Key"])
        if name is not None and not (own and one["Key"].startswith(own)):
            found.append(Input(name, one["Key"], int(one["Size"]), str(one["ETag"])))
    return pattern, some(found, str(source))


def parts_there(aws: Aws, to: Bucketed) -> set[str]:
    """Answers that are there, as `Chunk.part` names them: an object is there when it is whole."""
    own = f"{to.below}{OWN}/"
    keys = (str(one["Key"]) for one in _listed(aws, to.bucket, to.below))
    return {key[len(to.below) :] for key in keys if not key.startswith(own)}


def find_job(aws: Aws, to: Bucketed) -> Job | None:
    key = _job_key(to)
    found = aws.find("s3", "get_object", Bucket=to.bucket, Key=key)
    return None if found is None else read_job(found["Body"].read(), f"s3://{to.bucket}/{key}")


def keep_job(aws: Aws, to: Bucketed, job: Job) -> None:
    _put(aws, to.bucket, _job_key(to), job.text())


def keep_stretches(aws: Aws, to: Bucketed, chunks: list[Chunk], source: str) -> None:
    """As the state machine reads them: one array."""
    lines = ",\n".join(json.dumps(chunk.event(source, to.bucket, to.below)) for chunk in chunks)
    _put(aws, to.bucket, stretches_key(to), f"[{lines}]\n")


def read_json(aws: Aws, bucket: str, key: str) -> Any:
    found = aws.find("s3", "get_object", Bucket=bucket, Key=key)
    return None if found is None else json.loads(found["Body"].read())


def _job_key(to: Bucketed) -> str:
    return f"{to.below}{OWN}/job.json"


def _put(aws: Aws, bucket: str, key: str, text: str) -> None:
    aws.call("s3", "put_object", Bucket=bucket, Key=key, Body=text.encode(), ContentType="application/json")


def _listed(aws: Aws, bucket: str, prefix: str) -> Iterator[dict[str, Any]]:
    more: dict[str, str] = {}
    while True:
        page = aws.call("s3", "list_objects_v2", Bucket=bucket, Prefix=prefix, **more)
        yield from page.get("Contents", [])
        if not page.get("NextContinuationToken"):
            return
        more = {"ContinuationToken": page["NextContinuationToken"]}
