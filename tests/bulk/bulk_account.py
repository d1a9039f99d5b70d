"""AWS for bulk jobs: moto's S3, IAM and Step Functions, whose states it really runs; Lambda is our local one.

moto asks AWS's services at addresses of its own. Here what it asks of Lambda goes to the local Lambda, where the
pressed function really runs, and the rest to moto itself.
"""

from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto.core.config import default_user_config
from moto.stepfunctions.parser.asl.utils import boto_client

from coldpress.deploy.aws import Aws

REGION = "eu-west-1"


class Account(Aws):
    """With the local Lambda in Lambda's place. A pause is short; nothing here takes long."""

    def __init__(self, moto: str, lambda_url: str) -> None:
        super().__init__(region=REGION, endpoint_url=moto, pause=lambda seconds: _wait())
        local = Aws(region=REGION, endpoint_url=lambda_url)
        for operation in ("", "invoke"):
            local.client("lambda", operation)
        self._clients = local._clients

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        """moto knows no Express children of a map: it is told of Standard ones. The rest is as it stands."""
        if "definition" in arguments:
            assert '"EXPRESS"' in arguments["definition"]
            arguments["definition"] = arguments["definition"].replace('"EXPRESS"', '"STANDARD"')
        found = super().call(service, operation, **arguments)
        if operation == "describe_state_machine":
            found["definition"] = found["definition"].replace('"STANDARD"', '"EXPRESS"')
        return found


def _wait() -> None:
    from time import sleep

    sleep(0.05)


def run_states(monkeypatch: pytest.MonkeyPatch, moto: str, lambda_url: str) -> None:
    """Let moto run state machines, and ask the two of them."""
    monkeypatch.setitem(default_user_config, "stepfunctions", {"execute_state_machine": True})

    def client(**said: Any) -> Any:
        url = lambda_url if said["service_name"] == "lambda" else moto
        return boto3.client(**{**said, "endpoint_url": url})

    monkeypatch.setattr(boto_client, "boto3", SimpleNamespace(client=client))
