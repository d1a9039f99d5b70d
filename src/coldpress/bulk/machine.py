"""The state machine that answers a job's stretches on AWS, and what it and the function may do meanwhile.

One machine serves all jobs of a function: where a job's stretches and results lie, and how many are asked at once,
is said when it is started.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from coldpress.bulk.job import OWN
from coldpress.bulk.places import Bucketed
from coldpress.deploy.wanted import ALIAS

#: makes one text of its pieces, or what stands for it in a template
Join = Callable[[tuple[Any, ...]], Any]

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
POLICY = "coldpress-map"
MADE = "What the state machine {name} may do: ask its function."
#: what is said when it is started, wherever in the machine it is looked for
_SAID = "$$.Execution.Input"
#: what passes when it is tried again; an Express workflow has five minutes for all of it
_PASSING = [
    "Lambda.TooManyRequestsException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
]


def machine_name(function: str) -> str:
    return f"coldpress-map-{function}"


def role_for(function: str) -> str:
    """No function has a name with a dot, so that no function's own role is called like this."""
    return f"{function}.map"


def function_arn(partition: Any, region: Any, account: Any, function: str, join: Join = "".join) -> Any:
    """Of the alias. In templates what is not known yet is joined by other means."""
    return join(("arn:", partition, ":lambda:", region, ":", account, f":function:{function}:{ALIAS}"))


def machine_arns(
    partition: Any, region: Any, account: Any, function: str, join: Join = "".join
) -> tuple[Any, Any]:
    """Its own, and those of its executions."""
    name, at = machine_name(function), ("arn:", partition, ":states:", region, ":", account)
    return join((*at, f":stateMachine:{name}")), join((*at, f":execution:{name}:*"))


def definition(function_arn: Any, partition: Any = "aws", join: Join = "".join) -> dict[str, Any]:
    """In Amazon's States Language."""

    def integration(name: str) -> Any:
        return join(("arn:", partition, f":states:::{name}"))

    answer = {
        "Type": "Task",
        "Resource": integration("lambda:invoke"),
        "Parameters": {"FunctionName": function_arn, "Payload.$": "$"},
        "OutputPath": "$.Payload",
        "Retry": [
            _retry(_PASSING, seconds=1, attempts=6),
            _retry(["States.TaskFailed"], seconds=2, attempts=2),
        ],
        "End": True,
    }
    stretches = {
        "Type": "Map",
        "Label": "Stretches",
        "ItemReader": {
            "Resource": integration("s3:getObject"),
            "ReaderConfig": {"InputType": "JSON"},
            "Parameters": {"Bucket.$": f"{_SAID}.bucket", "Key.$": f"{_SAID}.stretches"},
        },
        "MaxConcurrencyPath": "$.concurrency",
        "ToleratedFailurePercentagePath": "$.tolerated",
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"},
            "StartAt": "Answer",
            "States": {"Answer": answer},
        },
        "ResultWriter": {
            "Resource": integration("s3:putObject"),
            "Parameters": {"Bucket.$": f"{_SAID}.bucket", "Prefix.$": f"{_SAID}.results"},
        },
        "End": True,
    }
    return {
        "Comment": "Every stretch of a job's files, answered by the function: made by coldpress map",
        "StartAt": "Map",
        "States": {"Map": stretches},
    }


def _retry(errors: list[str], *, seconds: int, attempts: int) -> dict[str, Any]:
    return {
        "ErrorEquals": errors,
        "IntervalSeconds": seconds,
        "BackoffRate": 2,
        "MaxAttempts": attempts,
        "JitterStrategy": "FULL",
    }


def run_policy(function_arn: Any, machine_arn: Any, executions: Any) -> dict[str, Any]:
    """What every job needs of the machine's role: the function, and, for a Distributed Map, the machine itself."""
    return _document(
        ("lambda:InvokeFunction", function_arn),
        ("states:StartExecution", machine_arn),
        ("states:DescribeExecution", executions),
    )


def stretches_policy(partition: Any, to: Bucketed, join: Join = "".join) -> dict[str, Any]:
    """What one job needs of it: read its stretches, and write what came of them."""
    results = ["s3:GetObject", "s3:PutObject", "s3:ListMultipartUploadParts", "s3:AbortMultipartUpload"]
    return _document(
        ("s3:GetObject", _objects(partition, to.bucket, stretches_key(to), join)),
        (results, _objects(partition, to.bucket, f"{results_prefix(to)}/*", join)),
    )


def function_policy(partition: Any, bucket: str, base: str, to: Bucketed, join: Join = "".join) -> dict[str, Any]:
    """What one job needs of the function's role: read the inputs, and write the answers."""
    return _document(
        ("s3:GetObject", _objects(partition, bucket, f"{base}*", join)),
        ("s3:PutObject", _objects(partition, to.bucket, f"{to.below}*", join)),
    )


def stretches_key(to: Bucketed) -> str:
    return f"{to.below}{OWN}/stretches.json"


def results_prefix(to: Bucketed) -> str:
    return f"{to.below}{OWN}/results"


def mark(to: Bucketed) -> str:
    """Stands for a job in names: there is one in a place."""
    return hashlib.sha256(f"s3://{to.bucket}/{to.below}".encode()).hexdigest()[:10]


def _objects(partition: Any, bucket: str, key: str, join: Join) -> Any:
    return join(("arn:", partition, f":s3:::{bucket}/{key}"))


def _document(*allowed: tuple[Any, Any]) -> dict[str, Any]:
    statements = [{"Effect": "Allow", "Action": action, "Resource": resource} for action, resource in allowed]
    return {"Version": "2012-10-17", "Statement": statements}
