"""Wishes that are exported, and the artifacts that they are for."""

import json
from pathlib import Path
from typing import Any

from coldpress.artifact import Artifact
from coldpress.bulk.places import Places
from coldpress.deploy.queues import Queue
from coldpress.deploy.scaling import Autoscale, Schedule
from coldpress.deploy.sink import Sink
from coldpress.deploy.wanted import Wanted
from coldpress.deploy.watch import Watch
from coldpress.export.run import contents

REGION, ACCOUNT = "eu-west-1", "123456789012"
DIGEST = "0123456789abcdef" * 4
SAID = {
    "CodeBucket": "bucket",
    "ImageUri": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/coldpress-small@sha256:{DIGEST}",
    "TokenSha256": "ab" * 32,
}
DAY = Schedule.parse("cron(0 8 ? * MON-FRI *)@Europe/Berlin=5:20")
NIGHT = Schedule.parse("cron(0 20 ? * MON-FRI *)@Europe/Berlin=1:4")
ROLE = f"arn:aws:iam::{ACCOUNT}:role/theirs"
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:alarms"
JOBS, IN_ORDER, ANSWERS = (
    Queue.parse("--queue", f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
    for name in ("jobs", "in_order.fifo", "answers")
)
STRANGE = {"QUOTES": "'\"`", "TEMPLATE": "${HOME} %{if} $${x} {{y}}", "LINES": "a\n b\t\\n", "WORDS": "ü 🙂 № yes"}

#: every option of the command, alone and together
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "arm": {"arch": "arm64", "snapstart": True},
    "image": {"package": "image", "role": ROLE, "snapstart": True},
    "image_token": {"package": "image", "url": "token", "env": {"COLDPRESS_LOG": "json"}, "tags": {"team": "ml"}},
    "token": {"url": "token"},
    "public": {"url": "public", "provisioned": 2},
    "closed": {"url": "none", "reserved": 0},
    "provisioned": {"provisioned": 3, "role": ROLE},
    "scaled": {"autoscale": Autoscale.parse("1:10@70%"), "schedules": (DAY, NIGHT), "url": "public"},
    "scaled_from_none": {
        "autoscale": Autoscale.parse("0:5@50%"),
        "schedules": (DAY,),
        "package": "image",
        "url": "public",
    },
    "timed": {"provisioned": 2, "schedules": (NIGHT,)},
    "snapstart": {"snapstart": True, "runtime": "python3.12"},
    "settings": {
        "memory_mb": 512,
        "timeout": 60,
        "tmp_mb": 1024,
        "json_log": True,
        "retention_days": 30,
        "reserved": 5,
        "env": STRANGE,
        "tags": {"team": "ml", "cost center": "42/a+b=c"},
    },
    "queues": {
        "queues": (JOBS, IN_ORDER),
        "batch_size": 5,
        "sink": Sink.parse('s3://answers/{a} b/$\'""/'),
        "url": "none",
    },
    "many_messages": {
        "queues": (JOBS,),
        "batch_size": 1000,
        "sink": Sink.parse(ANSWERS.url),
        "role": ROLE,
        "tags": {"team": "ml"},
    },
    "answers": {"sink": Sink.parse(ANSWERS.url), "package": "image"},
    "mapped": {"bulk": Places.parse("s3://texts/2026/", "s3://answers/2026"), "tags": {"team": "ml"}},
    "mapped_by_theirs": {
        "bulk": Places.parse("s3://texts/", "s3://texts/done/"),
        "role": ROLE,
        "package": "image",
    },
    "watched": {"watch": Watch(), "url": "token"},
    "watched_closely": {
        "watch": Watch(TOPIC, 800),
        "queues": (JOBS,),
        "autoscale": Autoscale.parse("1:10@70%"),
        "arch": "arm64",
        "tags": {"team": "ml"},
    },
}


def pressed(folder: Path, content: bytes = b"one", arch: str = "x86_64") -> Artifact:
    """As small as one can be, as a zip and as an image; neither is opened here."""
    (folder / "image").mkdir(parents=True)
    manifest = {"format": 1, "name": "small", "arch": arch, "models": {}, "files": {}}
    (folder / "coldpress.json").write_text(json.dumps(manifest))
    (folder / "function.zip").write_bytes(content)
    return Artifact.open(folder)


def wanted(folder: Path, case: str, **more: Any) -> Wanted:
    """One of the wishes, for the artifact that is made in a folder if there is none yet."""
    wishes = {"package": "zip", **CASES[case], **more}
    arch = wishes.pop("arch", "x86_64")
    place = folder / f"artifact-{arch}"
    return Wanted("small", Artifact.open(place) if place.exists() else pressed(place, arch=arch), **wishes)


def text(kind: str, wish: Wanted, name: str) -> str:
    found = contents(kind, wish)[name]
    assert isinstance(found, str)
    return found
