"""An account that moto's server stands in for, and artifacts that are deployed to it."""

import json
from pathlib import Path
from typing import Any

from coldpress.artifact import Artifact
from coldpress.deploy.aws import Aws
from coldpress.deploy.plan import plan
from coldpress.deploy.steps import Facts
from coldpress.deploy.wanted import Wanted


def pressed(folder: Path, content: bytes) -> Artifact:
    """As small as one can be: what is deployed here is never run."""
    folder.mkdir()
    manifest = {"format": 1, "name": "small", "arch": "x86_64", "models": {}, "files": {}}
    (folder / "coldpress.json").write_text(json.dumps(manifest))
    (folder / "function.zip").write_bytes(content)
    return Artifact.open(folder)


#: making a client takes longer than all that is asked of it here
CLIENTS: dict[str, Any] = {}


def connect(account: str, kind: type[Aws] = Aws) -> Aws:
    made = kind(endpoint_url=account)
    made._clients = CLIENTS
    return made


def deploy(account: str, wanted: Wanted) -> tuple[Facts, list[tuple[str, str]]]:
    aws = connect(account)
    return plan(aws, wanted).run(), aws.writes


class Killed(BaseException):
    """As if the process were gone."""


class Mortal(Aws):
    """Dies after so many calls have been answered."""

    left = 0

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        answer = super().call(service, operation, **arguments)
        self.left -= 1
        if self.left < 0:
            raise Killed
        return answer
