"""Bulk on AWS: buckets and Step Functions by moto over sockets, the function itself in the local Lambda."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bulk_account import REGION, Account, run_states
from bulk_lines import texts

from coldpress.artifact import Artifact
from coldpress.bulk import grants
from coldpress.bulk.remote import map_aws
from coldpress.deploy.aws import connect
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted
from coldpress.emulate.control.fleets import FleetOptions
from coldpress.emulate.serving import running_functions
from coldpress.errors import DeployError, UsageError


def lines(count: int, seed: int = 1) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts(count, seed)).encode()


@pytest.fixture
def cloud(account: str, artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """With a deployed function, and two buckets: `in` has two files, `out` nothing."""
    with running_functions(tmp_path / "functions", settle=0.0, options=FleetOptions(network=True)) as served:
        run_states(monkeypatch, account, served.url)
        local = connect(REGION, served.url)
        plan(local, Wanted("minilm", artifact, env={"AWS_ENDPOINT_URL_S3": account})).run()
        aws = Account(account, served.url)
        for bucket in ("in", "out"):
            where = {"LocationConstraint": REGION}
            aws.call("s3", "create_bucket", Bucket=bucket + "-place", CreateBucketConfiguration=where)
        for name, content in (("a.jsonl", lines(300)), ("deep/b.jsonl", lines(100, 2)), ("c.txt", b"not asked")):
            aws.call("s3", "put_object", Bucket="in-place", Key=f"2026/{name}", Body=content)
        yield aws


def objects(aws: Account) -> dict[str, bytes]:
    found = aws.call("s3", "list_objects_v2", Bucket="out-place").get("Contents", [])
    return {
        one["Key"]: aws.call("s3", "get_object", Bucket="out-place", Key=one["Key"])["Body"].read()
        for one in found
    }


def joined(found: dict[str, bytes], name: str) -> list[Any]:
    parts = sorted(key for key in found if key.startswith(f"done/{name}/part-"))
    return [json.loads(line) for key in parts for line in found[key].splitlines()]


def test_a_job(cloud: Account) -> None:
    result = map_aws(cloud, "s3://in-place/2026/", "s3://out-place/done/", "minilm", chunk_bytes=2048)
    assert result.whole and result.done_before == 0 and result.failures == []
    assert result.outputs == ["s3://out-place/done/a.jsonl/", "s3://out-place/done/deep/b.jsonl/"]
    found = objects(cloud)
    assert len(joined(found, "a.jsonl")) == 300 and len(joined(found, "deep/b.jsonl")) == 100
    assert all(len(one["embeddings"][0]) == 384 for one in joined(found, "a.jsonl"))


def test_a_finished_job_is_left_alone(cloud: Account) -> None:
    said: tuple[str, str, str] = ("s3://in-place/2026/*.jsonl", "s3://out-place/done", "minilm")
    first = map_aws(cloud, *said)
    assert first.whole and first.outputs == ["s3://out-place/done/a.jsonl/"]
    made = objects(cloud)
    with pytest.raises(UsageError, match=r"holds a job already, all of it is done: .*--resume"):
        map_aws(cloud, *said)
    before = len(cloud.writes)
    again = map_aws(cloud, *said, resume=True)
    assert again.whole and again.done_before == again.chunks and objects(cloud) == made
    assert not [call for call in cloud.writes[before:] if call[0] != "iam"]


def test_only_what_is_missing_is_asked_again(cloud: Account) -> None:
    """Also where a job was stopped on its way: what is there stays as it is."""
    said: tuple[str, str, str] = ("s3://in-place/2026/**.jsonl", "s3://out-place/done/", "minilm")
    first = map_aws(cloud, *said, chunk_bytes=2048)
    expected = {key: one for key, one in objects(cloud).items() if "/part-" in key}
    for key in [*expected][2:5]:
        cloud.call("s3", "delete_object", Bucket="out-place", Key=key)
    kept = next(iter(expected))
    stamp = cloud.call("s3", "head_object", Bucket="out-place", Key=kept)["LastModified"]
    again = map_aws(cloud, *said, resume=True)
    assert again.whole and again.done_before == first.chunks - 3
    assert {key: one for key, one in objects(cloud).items() if "/part-" in key} == expected
    assert cloud.call("s3", "head_object", Bucket="out-place", Key=kept)["LastModified"] == stamp
    stretches = json.loads(objects(cloud)["done/.coldpress/stretches.json"])
    assert [one["to"]["key"] for one in stretches] == [*expected][3:5]  # the first of them was tried ahead


def test_what_has_changed_is_not_mixed(cloud: Account) -> None:
    said: tuple[str, str, str] = ("s3://in-place/2026/*.jsonl", "s3://out-place/done/", "minilm")
    map_aws(cloud, *said)
    cloud.call("s3", "put_object", Bucket="in-place", Key="2026/a.jsonl", Body=lines(300, seed=3))
    with pytest.raises(UsageError, match=r"are not what they were: a\.jsonl has changed"):
        map_aws(cloud, *said, resume=True)


def test_a_stretch_that_fails_is_told(cloud: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """One input is changed when the job has begun: the function refuses to read it, and the rest is answered."""
    changing = grants.make_machine

    def make(*said: Any) -> Any:
        cloud.call("s3", "put_object", Bucket="in-place", Key="2026/deep/b.jsonl", Body=lines(90, seed=4))
        return changing(*said)

    monkeypatch.setattr(grants, "make_machine", make)
    result = map_aws(cloud, "s3://in-place/2026/", "s3://out-place/done/", "minilm", chunk_bytes=2048)
    assert not result.whole and result.outputs == ["s3://out-place/done/a.jsonl/"]
    assert {one.part.rpartition("/")[0] for one in result.failures} == {"deep/b.jsonl"}


@pytest.mark.parametrize(
    ("source", "to", "name", "match"),
    [
        ("s3://in-place/none/*.jsonl", "s3://out-place/", "minilm", "no file is named by"),
        ("s3://in-place/2026/", "s3://in-place/2026/", "minilm", "is where the inputs are"),
        ("in/*.jsonl", "s3://out-place/", "minilm", "FROM 'in/\\*.jsonl' is no place in a bucket"),
        ("s3://in-place/2026/", "out", "minilm", "--to 'out' is no place in a bucket"),
        ("s3://in-place/2026/", "s3://out-place/", "nobody", "there is no function nobody"),
        ("s3://nowhere-place/2026/", "s3://out-place/", "minilm", "NoSuchBucket"),
    ],
)
def test_what_cannot_be_done(cloud: Account, source: str, to: str, name: str, match: str) -> None:
    with pytest.raises((UsageError, DeployError), match=match):
        map_aws(cloud, source, to, name)
    assert objects(cloud) == {}
