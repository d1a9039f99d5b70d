"""Queues and sinks as people write them: read as AWS reads them, or refused in words; never a crash."""

import re

import pytest
from botocore.utils import ArnParser
from hypothesis import given
from hypothesis import strategies as st

from coldpress.deploy.queues import Queue
from coldpress.deploy.sink import Sink
from coldpress.errors import UsageError

ACCOUNT = "123456789012"
REGIONS = st.sampled_from(
    ["eu-west-1", "us-east-1", "ap-southeast-4", "us-gov-west-1", "cn-north-1", "eusc-de-east-1"]
)
NAMES = st.from_regex(r"\A[A-Za-z0-9_-]{1,75}(\.fifo)?\Z")
ACCOUNTS = st.from_regex(r"\A[0-9]{12}\Z")


def partition(region: str) -> str:
    from botocore.session import get_session

    return str(get_session().get_partition_for_region(region))


PARTITIONS = {
    one: partition(one)
    for one in ("eu-west-1", "us-east-1", "ap-southeast-4", "us-gov-west-1", "cn-north-1", "eusc-de-east-1")
}


@given(region=REGIONS, account=ACCOUNTS, name=NAMES)
def test_an_arn_and_a_url_are_one_queue(region: str, account: str, name: str) -> None:
    arn = f"arn:{PARTITIONS[region]}:sqs:{region}:{account}:{name}"
    found = Queue.parse("--queue", arn)
    assert ArnParser().parse_arn(found.arn("elsewhere")) == ArnParser().parse_arn(arn)
    assert Queue.parse("--queue", found.url) == found
    assert found.fifo == name.endswith(".fifo")


@pytest.mark.parametrize("region", PARTITIONS)
def test_its_url_is_boto3s(region: str) -> None:
    """The host that AWS's own client would ask."""
    import boto3

    client = boto3.client("sqs", region_name=region, aws_access_key_id="key", aws_secret_access_key="secret")
    found = Queue.parse("--queue", f"arn:{PARTITIONS[region]}:sqs:{region}:{ACCOUNT}:jobs")
    assert found.url == f"{client.meta.endpoint_url}/{ACCOUNT}/jobs"


@pytest.mark.parametrize(
    ("url", "region"),
    [
        (f"https://sqs-fips.us-east-1.amazonaws.com/{ACCOUNT}/jobs", "us-east-1"),
        (f"https://sqs.eu-west-1.api.aws/{ACCOUNT}/jobs", "eu-west-1"),
        (f"https://eu-west-1.queue.amazonaws.com/{ACCOUNT}/jobs", "eu-west-1"),
        (f"https://queue.amazonaws.com/{ACCOUNT}/jobs", "us-east-1"),
        (f"http://127.0.0.1:9324/{ACCOUNT}/jobs", None),
    ],
)
def test_older_and_other_hosts(url: str, region: str | None) -> None:
    found = Queue.parse("--queue", url)
    assert (found.region, found.url) == (region, url)
    assert found.arn("ap-south-1") == f"arn:aws:sqs:{region or 'ap-south-1'}:{ACCOUNT}:jobs"


@pytest.mark.parametrize(
    "wrong",
    [
        "jobs",
        "",
        "arn:aws:sns:eu-west-1:123456789012:jobs",
        "arn:aws:sqs:eu-west-1:123:jobs",
        "arn:aws:sqs:eu-west-1:123456789012:*",
        "arn:aws:sqs:*:123456789012:jobs",
        "arn:aws-cn:sqs:eu-west-1:123456789012:jobs",
        f"arn:aws:sqs:eu-west-1:123456789012:{'n' * 81}",
        "arn:aws:sqs:eu-west-1:123456789012:jobs:more",
        "https://sqs.eu-west-1.amazonaws.com/jobs",
        "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs/",
        "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs?a=b",
        "https://user@sqs.eu-west-1.amazonaws.com/123456789012/jobs",
        "https://[/123456789012/jobs",
        "ftp://sqs.eu-west-1.amazonaws.com/123456789012/jobs",
    ],
)
def test_what_is_no_queue(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"--queue .* is not a queue; write it as arn:aws:sqs:"):
        Queue.parse("--queue", wrong)


@given(st.text(max_size=60) | st.text(":/arnsqhtp.@?*$-0123456789", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (
        lambda: Queue.parse("--queue", text),
        lambda: Sink.parse(text),
        lambda: Sink.parse(f"s3://{text}"),
    ):
        try:
            parse()
        except UsageError as error:
            assert "--" in str(error)


@given(st.from_regex(r"\A[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\Z"), st.text(max_size=80))
def test_a_bucket_and_its_prefix(bucket: str, prefix: str) -> None:
    """The function writes under what the role allows, and the role allows nothing beside it."""
    from coldpress_runtime.sink import Objects, open_sink

    try:
        found = Sink.parse(f"s3://{bucket}/{prefix}")
    except UsageError:
        assert not prefix.isprintable() or re.search(r"[*?]|\$\{", prefix)
        return
    function = open_sink(found.said)
    assert isinstance(function, Objects)
    assert found.place and found.place.objects == f"{bucket}/{function._prefix}*"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("s3://", "'' is not a bucket's name"),
        ("s3://Answers/x", "'Answers' is not a bucket's name: 3 to 63"),
        ("s3://answers/*", r"'\*' in a prefix would mean more than itself"),
        ("s3://answers/${aws:username}", "would mean more than itself in the role's policy"),
        (f"s3://answers/{'x' * 513}", "512 bytes at most, not 'xxx"),
        ("bucket", "it can be s3://bucket/prefix, a queue's URL, or log"),
        ("https://example.com/answers", "--sink .* is not a queue"),
    ],
)
def test_what_is_no_sink(wrong: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Sink.parse(wrong)


def test_a_sink_by_an_arn_is_told_by_its_url() -> None:
    found = Sink.parse(f"arn:aws:sqs:eu-west-1:{ACCOUNT}:answers")
    assert found.said == f"https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/answers" and found.place is None
