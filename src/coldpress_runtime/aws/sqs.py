"""Messages to a queue, ten at a time."""

from coldpress_runtime.aws.client import AwsError, Client
from coldpress_runtime.jsontext import dumps, loads
from coldpress_runtime.settings import TRACE, variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: what a call takes
MOST = 10
_KIND = {"content-type": "application/x-amz-json-1.0"}


class Queue:
    def __init__(self, url: str) -> None:
        self.url = url
        self._client = Client("sqs")

    def send(self, bodies: "Sequence[tuple[str, str]]") -> None:
        """Pairs of an id and a text. In a .fifo queue the id keeps a text from being there twice."""
        fifo = self.url.endswith(".fifo")
        for begin in range(0, len(bodies), MOST):
            entries = []
            for number, (key, body) in enumerate(bodies[begin : begin + MOST]):
                entry: dict[str, object] = {"Id": str(number), "MessageBody": body}
                if trace_id := variable(TRACE):  # whoever takes the message goes on with it
                    said = {"DataType": "String", "StringValue": trace_id}
                    entry["MessageSystemAttributes"] = {"AWSTraceHeader": said}
                if fifo:
                    entry |= {"MessageDeduplicationId": key[-128:], "MessageGroupId": "coldpress"}
                entries.append(entry)
            answer = self._call("SendMessageBatch", {"QueueUrl": self.url, "Entries": entries})
            failed = answer.get("Failed") or []
            if failed:
                raise AwsError(f"{self.url} took {len(entries) - len(failed)} of {len(entries)}: {failed[0]}")

    def close(self) -> None:
        self._client.close()

    def _call(self, operation: str, said: dict[str, object]) -> "dict[str, list[object]]":
        headers = {**_KIND, "x-amz-target": f"AmazonSQS.{operation}"}
        answer = self._client.call("POST", "/", headers=headers, body=dumps(said).encode())
        found = loads(answer.body)
        return found if isinstance(found, dict) else {}
