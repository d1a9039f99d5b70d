"""Queues that Lambda brings the alias messages of: a mapping each, which tells back what failed of a batch."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts import alias
from coldpress.deploy.queues import MOST_IN_ORDER, Queue
from coldpress.deploy.steps import CHANGE, CREATE, DELETE, Step, different, keep
from coldpress.deploy.wanted import Wanted
from coldpress.errors import DeployError

#: on every mapping that was made here: others' are left alone
MARK = {"made-by": "coldpress"}
_DENIED, _UNKNOWN = "AccessDenied", "UnknownOperation"
#: what AWS recommends between a queue's visibility timeout and a function's
_TIMES = 6
#: seconds that Lambda has to wait for more than ten messages
_WINDOW = 1


def settings(wanted: Wanted, queue: Queue) -> dict[str, Any]:
    """As a mapping is made and changed; a queue that keeps its order has no window."""
    window = _WINDOW if wanted.batch_size > MOST_IN_ORDER else 0
    return {
        "BatchSize": wanted.batch_size,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        **({} if queue.fifo else {"MaximumBatchingWindowInSeconds": window}),
    }


def tags(wanted: Wanted) -> dict[str, str]:
    return {**wanted.tags, **MARK}


def check(aws: Aws, wanted: Wanted) -> None:
    """Lambda takes messages in its own region only, and so does the function send them."""
    into = [wanted.sink.queue] if wanted.sink and wanted.sink.queue else []
    for queue in (*wanted.queues, *into):
        if not aws.local and queue.region not in (None, aws.region):
            raise DeployError(
                f"the queue {queue.name} is in {queue.region}, and the function in {aws.region}: both have to be "
                f"in one region; deploy with --region {queue.region}, or take another queue"
            )


def steps(aws: Aws, wanted: Wanted, *, there: bool) -> list[Step]:
    """`there`: whether the alias is. Those that are no longer wanted go."""
    mapped = _read(aws, wanted.name, needed=bool(wanted.queues)) if there else []
    have = {one["EventSourceArn"]: one for one in mapped}
    made = []
    for queue in wanted.queues:
        arn = queue.arn(aws.region)
        words = f"{wanted.batch_size:,} messages at once at most{_looked_at(aws, wanted, queue)}"
        found = have.pop(arn, None)
        if found is None:
            made.append(Step(CREATE, f"queue {queue.name}", words, _map(aws, wanted, queue, arn)))
            continue
        changed = different({"MaximumBatchingWindowInSeconds": 0, **found}, settings(wanted, queue))
        if changed:
            act = _change(aws, found["UUID"], settings(wanted, queue))
            made.append(Step(CHANGE, f"queue {queue.name}", f"{words}: {', '.join(changed)}", act))
        else:
            paused = "; it is paused" if found.get("State") in ("Disabled", "Disabling") else ""
            made.append(keep(f"queue {queue.name}", words + paused))
    return made + [_gone(aws, one) for one in have.values() if _is_ours(aws, one)]


def told(aws: Aws, name: str) -> list[str]:
    """What the alias is brought messages of, for who looks."""
    return [
        f"{_name(one)}: {one['BatchSize']:,} messages at once at most, {str(one.get('State', 'Enabled')).lower()}"
        for one in _read(aws, name, needed=False)
    ]


def ended(aws: Aws, name: str) -> list[Step]:
    """Of a function that goes: its mappings would stay, and fail. Others' stay all the same."""
    return [
        _gone(aws, one)
        if _is_ours(aws, one)
        else keep(f"queue {_name(one)}", "somebody else maps it to the alias: take the mapping away by hand")
        for one in _read(aws, name, needed=False)
    ]


def _read(aws: Aws, name: str, *, needed: bool) -> list[dict[str, Any]]:
    """Mappings of queues to the alias; not those that are going. Who may not list them has made none, nor has a
    local Lambda without them: where none are `needed`, that is no reason to stop."""
    found: list[dict[str, Any]] = []
    more: dict[str, str] = {}
    while True:
        try:
            page = aws.find("lambda", "list_event_source_mappings", FunctionName=alias.arn(aws, name), **more)
        except DeployError as error:
            if needed or not any(one in str(error) for one in (_DENIED, _UNKNOWN)):
                raise
            return []
        found += (page or {}).get("EventSourceMappings", [])
        if not page or not page.get("NextMarker"):
            break
        more = {"Marker": page["NextMarker"]}
    return [one for one in found if ":sqs:" in one.get("EventSourceArn", "") and one.get("State") != "Deleting"]


def _is_ours(aws: Aws, mapping: dict[str, Any]) -> bool:
    if aws.local:  # where there are no tags of mappings, and no functions but those that were deployed
        return True
    found = aws.find("lambda", "list_tags", Resource=mapping["EventSourceMappingArn"]) or {}
    return not different(found.get("Tags") or {}, MARK)


def _name(mapping: dict[str, Any]) -> str:
    return str(mapping["EventSourceArn"]).rpartition(":")[2]


def _map(aws: Aws, wanted: Wanted, queue: Queue, arn: str) -> Callable[[], None]:
    marked = {} if aws.local else {"Tags": tags(wanted)}

    def act() -> None:
        named = {"FunctionName": alias.arn(aws, wanted.name), "EventSourceArn": arn}
        aws.call("lambda", "create_event_source_mapping", **named, **settings(wanted, queue), **marked)

    return act


def _change(aws: Aws, uuid: str, wants: dict[str, Any]) -> Callable[[], None]:
    return lambda: aws.call("lambda", "update_event_source_mapping", UUID=uuid, **wants)


def _gone(aws: Aws, mapping: dict[str, Any]) -> Step:
    uuid = mapping["UUID"]
    act = lambda: aws.drop("lambda", "delete_event_source_mapping", UUID=uuid)  # noqa: E731
    return Step(DELETE, f"queue {_name(mapping)}", "its messages come no more; the queue stays", act)


@dataclass(frozen=True)
class _Looked:
    hidden_seconds: int
    has_dead_letters: bool


def _looked_at(aws: Aws, wanted: Wanted, queue: Queue) -> str:
    """What will hurt there, in words."""
    if aws.local:
        return ""
    found = _look(aws, queue)
    if found is None:
        return "; its visibility timeout cannot be seen"
    if found.hidden_seconds < wanted.timeout:
        raise DeployError(
            f"{queue.name} hides a message for {found.hidden_seconds} s, and the function may take "
            f"{wanted.timeout} s: Lambda refuses that. Say --timeout {max(1, found.hidden_seconds)}, or let the "
            f"queue hide it for six times as long: aws sqs set-queue-attributes --queue-url {queue.url} "
            f"--attributes VisibilityTimeout={wanted.timeout * _TIMES}"
        )
    short = found.hidden_seconds < wanted.timeout * _TIMES
    words = ""
    if short:
        words += f"; hides them for {found.hidden_seconds} s, AWS recommends {wanted.timeout * _TIMES}"
    return words + ("" if found.has_dead_letters else "; no dead-letter queue: what always fails comes again")


def _look(aws: Aws, queue: Queue) -> _Looked | None:
    """None where it may not be looked at, as another account's."""
    asked = {"QueueUrl": queue.url, "AttributeNames": ["VisibilityTimeout", "RedrivePolicy"]}
    try:
        found = aws.find("sqs", "get_queue_attributes", **asked)
    except DeployError as error:
        if _DENIED not in str(error):
            raise
        return None
    if found is None:
        raise DeployError(
            f"there is no queue {queue.name} in {queue.region or aws.region} of account {queue.account}: make it "
            f"(aws sqs create-queue --queue-name {queue.name} --attributes VisibilityTimeout=180), or look "
            f"at --queue"
        )
    has = found.get("Attributes") or {}
    dead = json.loads(has.get("RedrivePolicy") or "{}").get("deadLetterTargetArn")
    return _Looked(int(has.get("VisibilityTimeout", 30)), bool(dead))
