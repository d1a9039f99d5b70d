"""One SQS queue, through boto3: found by its URL or its ARN, received from, deleted from.

Its address and its credentials are boto3's: AWS_ENDPOINT_URL_SQS or AWS_ENDPOINT_URL name one that stands in for
SQS. Calls block; whoever has an event loop makes them in threads.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from coldpress.deploy.faults import fault
from coldpress.emulate.queues.batching import AT_ONCE
from coldpress.emulate.sandboxes.invocation import REGION
from coldpress.errors import ColdpressError, MissingExtra, UsageError

#: seconds that SQS holds a receive that finds nothing. Lambda's wait 20; here somebody waits for Ctrl-C
LONG_POLL = 2
#: connections that are kept; more are made when they are needed
_KEPT = 32
_ARN = re.compile(r"arn:aws[\w-]*:sqs:([a-z0-9-]+):(\d{12}):([\w-]{1,80}(?:\.fifo)?)", re.ASCII)
_HOST = re.compile(r"(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com(?:\.cn)?")
_ABSENT = ("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")

#: as boto3 gives it
Message = dict[str, Any]


@dataclass(frozen=True)
class Queue:
    url: str
    arn: str
    region: str
    #: seconds for which a message that was received is hidden
    visibility: int
    client: Any = field(repr=False, compare=False)

    @property
    def fifo(self) -> bool:
        return self.arn.endswith(".fifo")

    def receive(self, most: int, wait: int) -> list[Message]:
        """Up to `most` messages; if there are none, those that come within `wait` seconds."""
        try:
            answer = self.client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=most,
                WaitTimeSeconds=wait,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        except Exception as error:
            raise _in_words(error, "receive_message", self.url, self.region) from error
        found: list[Message] = answer.get("Messages", [])
        return found

    def delete(self, receipts: Sequence[str]) -> list[str]:
        """Take messages out for good; what SQS says of those that could not be."""
        told: list[str] = []
        for at in range(0, len(receipts), AT_ONCE):
            some = receipts[at : at + AT_ONCE]
            entries = [{"Id": str(number), "ReceiptHandle": one} for number, one in enumerate(some)]
            try:
                answer = self.client.delete_message_batch(QueueUrl=self.url, Entries=entries)
            except Exception as error:
                raise _in_words(error, "delete_message_batch", self.url, self.region) from error
            told += [f"{one.get('Code')}: {one.get('Message', '')}" for one in answer.get("Failed", [])]
        return told

    def close(self) -> None:
        self.client.close()


def parse_arn(named: str) -> tuple[str, str, str] | None:
    """The region, the account and the name in a queue's ARN; None if it is no queue's."""
    found = _ARN.fullmatch(named)
    return (found[1], found[2], found[3]) if found else None


def find_queue(named: str) -> Queue:
    """The queue that a URL or an ARN names, asked for: one that is not there is told at once."""
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import ProfileNotFound
    except ImportError:
        raise MissingExtra("aws", "boto3", "polling a queue") from None
    by_arn = parse_arn(named)
    if by_arn is None and not named.startswith(("https://", "http://")):
        raise UsageError(
            f"{named[:200]!r} is no queue: name its URL (https://sqs.REGION.amazonaws.com/ACCOUNT/NAME) or its ARN"
        )
    try:
        session = boto3.session.Session()
    except ProfileNotFound as error:
        raise UsageError(f"{error}: set AWS_PROFILE to one that is in ~/.aws/config, or unset it") from None
    region = by_arn[0] if by_arn else _region_in(named) or session.region_name or REGION
    retries = {"mode": "standard", "total_max_attempts": 3}
    config = Config(retries=retries, connect_timeout=5, read_timeout=LONG_POLL + 20, max_pool_connections=_KEPT)
    try:
        client = session.client("sqs", region_name=region, config=config)
    except ValueError as error:
        raise UsageError(f"{error}: look at AWS_ENDPOINT_URL_SQS and AWS_ENDPOINT_URL") from None
    try:
        url = named
        if by_arn:
            url = client.get_queue_url(QueueName=by_arn[2], QueueOwnerAWSAccountId=by_arn[1])["QueueUrl"]
        asked = ["QueueArn", "VisibilityTimeout"]
        told = client.get_queue_attributes(QueueUrl=url, AttributeNames=asked)["Attributes"]
        return Queue(url, told["QueueArn"], region, int(told["VisibilityTimeout"]), client)
    except Exception as error:
        client.close()
        raise _in_words(error, "get_queue_attributes", named, region) from error


def _region_in(url: str) -> str | None:
    found = _HOST.fullmatch(urlsplit(url).hostname or "")
    return (found[1] or found[2]) if found else None


def _in_words(error: Exception, operation: str, named: str, region: str) -> Exception:
    code = str((getattr(error, "response", None) or {}).get("Error", {}).get("Code", ""))
    if code in _ABSENT:
        return UsageError(
            f"there is no queue {named} in {region}: look at its name, its account and its region; "
            "for one that is not AWS's, set AWS_ENDPOINT_URL_SQS"
        )
    if isinstance(error, ColdpressError):
        return error
    return fault(error, "sqs", operation, region)
