"""What a batch costs: ten short texts in one event of SQS against one."""

import json
import sys
from math import ceil
from statistics import median
from typing import Any

import pytest

from coldpress.artifact import Artifact
from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import price_book
from coldpress.emulate.sandbox import Sandbox

TEXTS = [
    *("where is my order", "refund please", "great product", "does it ship abroad", "the app crashes"),
    *("love it", "how to reset", "cancel my plan", "too slow today", "thanks a lot"),
]
ROUNDS, FIRST = 200, 20
MOST = 4.0


def event(texts: list[str]) -> bytes:
    def record(number: int, text: str) -> dict[str, Any]:
        return {
            "messageId": f"19dd0b57-b21e-4ac1-bd88-01bbb068cb{number:02}",
            "receiptHandle": "MessageReceiptHandle" * 8,
            "body": json.dumps({"text": text}),
            "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1523232000000"},
            "messageAttributes": {},
            "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:MyQueue",
            "awsRegion": "eu-west-1",
        }

    return json.dumps({"Records": [record(number, text) for number, text in enumerate(texts)]}).encode()


@pytest.mark.parametrize("memory", [512, 1769])
def test_ten_texts_cost_at_most_four_times_one(artifact: Artifact, memory: int) -> None:
    """In dollars, of requests and of billed milliseconds; at the size that deploy takes by itself also in time."""
    one: list[float] = []
    ten: list[float] = []
    with Sandbox(artifact.function_folder, memory_mb=memory) as sandbox:
        for number in range(ROUNDS):
            for times, texts in ((one, TEXTS[number % 10 :][:1]), (ten, TEXTS)):
                answer = sandbox.invoke(event(texts))
                assert answer.ok and json.loads(answer.body) == {"batchItemFailures": []}
                times.append(answer.duration_ms)

    def dollars(times: list[float]) -> float:
        use = LambdaUse(len(times), sum(map(ceil, times)), memory)
        return lambda_bill(use, price_book("us-east-1")).dollars

    one, ten = one[FIRST:], ten[FIRST:]
    price, time = dollars(ten) / dollars(one), median(ten) / median(one)
    sys.stdout.write(
        f"{memory} MB: {median(one):.2f}, {median(ten):.2f} ms: {time:.2f} × the time, {price:.2f} × the price\n"
    )
    assert price <= MOST
    assert time <= MOST or memory < 1769
