"""The options that say how a function is to run: of `deploy`, and of `export`, which writes the same down."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from coldpress.deploy.wanted import Wanted

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = [
    click.option("--name", required=True, help="The function's."),
    click.option("--package", type=click.Choice(["auto", "zip", "image"]), default="auto", show_default=True),
    click.option("--memory", type=click.IntRange(128, 10240), help="MB.  [default: as bench recommends, or 1769]"),
    click.option("--timeout", type=click.IntRange(1, 900), default=30, show_default=True, help="Seconds."),
    click.option("--runtime", default="python3.13", show_default=True, help="Lambda's Python, for a zip."),
    click.option("--env", multiple=True, metavar="K=V", help="A variable; may be repeated."),
    click.option("--tmp", type=click.IntRange(512, 10240), default=512, show_default=True, help="MB of /tmp."),
    click.option("--snapstart", is_flag=True, help="Start from a snapshot."),
    click.option("--log", type=click.Choice(["text", "json"]), default="text", show_default=True),
    click.option("--retention", type=int, default=14, show_default=True, help="Days that its log is kept."),
    click.option("--tag", multiple=True, metavar="K=V", help="May be repeated."),
    click.option(
        "--role", metavar="ARN", help="[default: one is made that may do what is needed here, and nothing else]"
    ),
    click.option(
        "--sink", metavar="PLACE", help="Where answers to events go: s3://bucket/prefix, a queue's URL, or log."
    ),
    click.option(
        "--queue", multiple=True, metavar="QUEUE", help="Take its messages: an ARN or a URL; may be repeated."
    ),
    click.option("--batch-size", type=int, default=10, show_default=True, help="Messages at once, at most."),
    click.option(
        "--url",
        type=click.Choice(["iam", "token", "public", "none"]),
        default="iam",
        show_default=True,
        help="Who may call its URL: whom IAM allows, who has the token, everybody.",
    ),
    click.option(
        "--provisioned", type=click.IntRange(0), default=0, show_default=True, help="Sandboxes kept ready."
    ),
    click.option("--autoscale", metavar="MIN:MAX@TARGET", help="Kept ready by use, as 1:10@70%."),
    click.option(
        "--schedule",
        multiple=True,
        metavar="WHEN=MIN:MAX",
        help="Other bounds from a time on, as 'cron(0 8 ? * MON-FRI *)@Europe/Berlin=5:20'; may be repeated.",
    ),
    click.option("--reserved", type=click.IntRange(0), help="Requests at once, at most."),
]


def wanted_options(command: _Command) -> _Command:
    """All of them, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wanted_from(folder: Path, said: dict[str, Any], **more: Any) -> "Wanted":
    """What they say, taken together; `said` is as click names them."""
    from coldpress.artifact import Artifact
    from coldpress.deploy.options import pairs, recommended_memory
    from coldpress.deploy.queues import Queue
    from coldpress.deploy.scaling import Autoscale, Schedule
    from coldpress.deploy.sink import Sink
    from coldpress.deploy.wanted import Wanted

    artifact = Artifact.open(folder)
    return Wanted(
        name=said["name"],
        artifact=artifact,
        package=said["package"],
        memory_mb=said["memory"] or recommended_memory(artifact),
        timeout=said["timeout"],
        runtime=said["runtime"],
        env=pairs("--env", said["env"]),
        tmp_mb=said["tmp"],
        snapstart=said["snapstart"],
        json_log=said["log"] == "json",
        retention_days=said["retention"],
        tags=pairs("--tag", said["tag"]),
        role=said["role"],
        sink=Sink.parse(said["sink"]) if said["sink"] else None,
        queues=tuple(Queue.parse("--queue", one) for one in said["queue"]),
        batch_size=said["batch_size"],
        url=said["url"],
        provisioned=said["provisioned"],
        autoscale=Autoscale.parse(said["autoscale"]) if said["autoscale"] else None,
        schedules=tuple(map(Schedule.parse, said["schedule"])),
        reserved=said["reserved"],
        **more,
    )
