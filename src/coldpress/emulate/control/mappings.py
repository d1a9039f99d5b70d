"""Event source mappings: which queue feeds which function. Of Lambda's sources there are SQS queues here."""

import asyncio
import time
from dataclasses import replace
from typing import Any
from uuid import uuid4

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Call, Said, mapping, page, text, whole
from coldpress.emulate.control.feeders import batching_of
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Mapping
from coldpress.emulate.queues.batching import (
    AT_ONCE,
    LARGEST_BATCH,
    LEAST_CONCURRENCY,
    LONGEST_WINDOW,
    MOST_CONCURRENCY,
    trouble_with,
)
from coldpress.emulate.queues.queue import Queue, find_queue, parse_arn
from coldpress.emulate.sandboxes.invocation import ACCOUNT, REGION
from coldpress.errors import ColdpressError

_REPORTS = "ReportBatchItemFailures"
_OF_STREAMS = "that is said of streams, not of queues"
#: what would change which messages come, and when, and cannot be done here
_NOT_HERE = {
    "FilterCriteria": "messages are not filtered here; filter in the function, or leave it out",
    "ProvisionedPollerConfig": "there are no pollers of your own here; ScalingConfig holds them down",
    "KMSKeyArn": "it is for filters, and messages are not filtered here",
    "MetricsConfig": "there is no CloudWatch here",
    "LoggingConfig": "what a mapping does is in its function's log here",
    "Tags": "mappings are not tagged here",
    "DestinationConfig": "a queue has a redrive policy of its own",
    "StartingPosition": _OF_STREAMS,
    "StartingPositionTimestamp": _OF_STREAMS,
    "ParallelizationFactor": _OF_STREAMS,
    "MaximumRecordAgeInSeconds": _OF_STREAMS,
    "BisectBatchOnFunctionError": _OF_STREAMS,
    "MaximumRetryAttempts": _OF_STREAMS,
    "TumblingWindowInSeconds": _OF_STREAMS,
    "Topics": "that is said of Kafka",
    "Queues": "that is said of Amazon MQ",
    "SourceAccessConfigurations": "that is said of brokers",
    "SelfManagedEventSource": "that is said of Kafka",
    "AmazonManagedKafkaEventSourceConfig": "that is said of Kafka",
    "SelfManagedKafkaEventSourceConfig": "that is said of Kafka",
    "DocumentDBEventSourceConfig": "that is said of DocumentDB",
}


async def create(plane: Plane, call: Call) -> Said:
    arn = text(call.body, "EventSourceArn", 1024)
    if arn is None or parse_arn(arn) is None:
        raise errors.invalid(
            f"EventSourceArn is {arn!r}: here it must be an SQS queue's, like arn:aws:sqs:REGION:ACCOUNT:NAME"
        )
    if not call.body.get("FunctionName"):
        raise errors.invalid("FunctionName is missing: it is whom the queue feeds")
    bare = Mapping(str(uuid4()), arn, "", "", True, AT_ONCE, 0, None, False, 0.0)
    made = _said_of(plane, bare, call.body)
    _must_be_new(plane, made)
    queue = await _found(plane, made)
    try:
        _must_be_new(plane, made)
        plane.store.save_mapping(made)
    except BaseException:
        queue.close()
        raise
    return _begun(plane, made, queue, "Creating")


def get(plane: Plane, call: Call) -> Said:
    return _told(plane, _known(plane, call))


def list_of(plane: Plane, call: Call) -> Said:
    arn, name = call.asked("EventSourceArn"), call.asked("FunctionName")
    function = names.split(name) if name else None
    listed = [
        one
        for _, one in sorted(plane.store.mappings.items())
        if arn in ("", one.queue) and function in (None, (one.function, one.qualifier))
    ]
    shown, more = page(call, listed, lambda one: one.uuid, 100)
    return {"EventSourceMappings": [_told(plane, one) for one in shown], **more}


async def update(plane: Plane, call: Call) -> Said:
    before = _resting(plane, call)
    made = _said_of(plane, before, call.body)
    if (made.function, made.qualifier) != (before.function, before.qualifier):
        _must_be_new(plane, made)
    queue = await _found(plane, made) if made.enabled else None
    try:
        if plane.store.mappings.get(made.uuid) is not before:
            raise _in_use(made.uuid)
        plane.store.save_mapping(made)
    except BaseException:
        if queue is not None:
            queue.close()
        raise
    switched = {(False, True): "Enabling", (True, False): "Disabling"}
    return _begun(plane, made, queue, switched.get((before.enabled, made.enabled), "Updating"))


def delete(plane: Plane, call: Call) -> Said:
    gone = _resting(plane, call)
    plane.store.remove_mapping(gone.uuid)
    told = _told(plane, gone, "Deleting")
    plane.feeders.stop(gone.uuid)
    plane.forget(gone.uuid)
    return told


def _said_of(plane: Plane, before: Mapping, body: Said) -> Mapping:
    """The mapping that a request makes of one, checked as far as it can be without asking SQS."""
    for member, why in _NOT_HERE.items():
        if body.get(member):
            raise errors.invalid(f"{member} is not possible in this local Lambda: {why}")
    said: dict[str, Any] = {
        "size": whole(body, "BatchSize", 1, LARGEST_BATCH),
        "window": whole(body, "MaximumBatchingWindowInSeconds", 0, LONGEST_WINDOW),
    }
    if (name := text(body, "FunctionName", 256)) is not None:
        said["function"], said["qualifier"] = names.split(name)
        function = plane.function(said["function"], said["qualifier"])
        plane.version(function, said["qualifier"])
    if (enabled := body.get("Enabled")) is not None:
        if not isinstance(enabled, bool):
            raise errors.invalid(f"Enabled is {str(enabled)[:80]!r}: it can be true or false")
        said["enabled"] = enabled
    if (types := body.get("FunctionResponseTypes")) is not None:
        if types not in ([], [_REPORTS]):
            raise errors.invalid(f"FunctionResponseTypes is {str(types)[:80]}: it can be [] or ['{_REPORTS}']")
        said["reports"] = bool(types)
    made = replace(
        before, **{member: value for member, value in said.items() if value is not None}, modified=time.time()
    )
    if (scaling := mapping(body, "ScalingConfig")) is not None:
        most = whole(scaling, "MaximumConcurrency", LEAST_CONCURRENCY, MOST_CONCURRENCY)
        made = replace(made, concurrency=most)
    wrong = trouble_with(batching_of(made), fifo=made.queue.endswith(".fifo"), visibility=0, timeout=0)
    if wrong:
        raise errors.invalid(wrong)
    return made


async def _found(plane: Plane, made: Mapping) -> Queue:
    """Its queue, if that is there and may feed this function in this way."""
    try:
        queue = await asyncio.to_thread(find_queue, made.queue)
    except ColdpressError as error:
        raise errors.invalid(f"EventSourceArn: {error}") from None
    try:
        function = plane.function(made.function, made.qualifier)
        timeout = function.versions[plane.version(function, made.qualifier)]["Timeout"]
        wrong = trouble_with(batching_of(made), fifo=queue.fifo, visibility=queue.visibility, timeout=timeout)
        if wrong:
            raise errors.invalid(wrong)
    except BaseException:
        queue.close()
        raise
    return queue


def _must_be_new(plane: Plane, made: Mapping) -> None:
    for other in plane.store.mappings.values():
        same = (other.queue, other.function, other.qualifier) == (made.queue, made.function, made.qualifier)
        if same and other.uuid != made.uuid:
            raise errors.conflict(
                f'An event source mapping with SQS arn (" {made.queue} ") and function (" {made.function} ") '
                f"already exists. Please update or delete the existing mapping with UUID {other.uuid}"
            )


def _known(plane: Plane, call: Call) -> Mapping:
    found = plane.store.mappings.get(call.path["UUID"])
    if found is None:
        raise errors.not_found("The resource you requested does not exist.")
    return found


def _resting(plane: Plane, call: Call) -> Mapping:
    found = _known(plane, call)
    if plane.phase(found.uuid):
        raise _in_use(found.uuid)
    return found


def _in_use(uuid: str) -> Exception:
    return errors.in_use(f"the event source mapping {uuid} is being changed: try again when its State is settled")


def _begun(plane: Plane, made: Mapping, queue: Queue | None, phase: str) -> Said:
    if queue is not None and made.enabled:
        plane.feeders.start(made, queue)
    else:
        plane.feeders.stop(made.uuid)
        if queue is not None:
            queue.close()
    plane.begin(made.uuid, "", phase)
    return _told(plane, made, phase)


def _told(plane: Plane, one: Mapping, phase: str = "") -> Said:
    state = phase or plane.phase(one.uuid) or ("Enabled" if one.enabled else "Disabled")
    told = {
        "UUID": one.uuid,
        "BatchSize": one.size,
        "MaximumBatchingWindowInSeconds": one.window,
        "EventSourceArn": one.queue,
        "FunctionArn": names.arn(one.function, one.qualifier),
        "LastModified": one.modified,
        "LastProcessingResult": plane.feeders.result(one.uuid),
        "State": state,
        "StateTransitionReason": "USER_INITIATED",
        "FunctionResponseTypes": [_REPORTS] if one.reports else [],
        "EventSourceMappingArn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:event-source-mapping:{one.uuid}",
    }
    return told if one.concurrency is None else {**told, "ScalingConfig": {"MaximumConcurrency": one.concurrency}}
