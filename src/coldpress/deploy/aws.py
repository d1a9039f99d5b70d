"""Calls to AWS: clients made when they are needed, every call counted, every refusal in words."""

import json
import os
import time
import urllib.request
from collections.abc import Callable
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from coldpress.deploy.faults import fault, may_pass
from coldpress.errors import DeployError, MissingExtra

#: seconds: how long what passes by itself is waited for (a role that is new, a function that is being changed)
PATIENCE = 60.0
_MOST_SAID = 1 << 24
_READS = ("get_", "list_", "describe_", "head_", "simulate_")


class Aws:
    """One account and region, or the local Lambda in their place."""

    def __init__(
        self,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        local: bool = False,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.endpoint_url = endpoint_url
        #: there is Lambda alone: no roles, no logs, no registries
        self.local = local
        self._region = region
        self.pause = pause
        self.clock = clock
        self._clients: dict[str, Any] = {}
        #: as they were made, for those who count: (service, operation)
        self.calls: list[tuple[str, str]] = []

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [call for call in self.calls if not call[1].startswith(_READS)]

    @cached_property
    def session(self) -> Any:
        try:
            import boto3
            from botocore.exceptions import ProfileNotFound
        except ImportError:
            raise MissingExtra("aws", "boto3", "deploying") from None
        try:
            made = boto3.session.Session(region_name=self._region)
        except ProfileNotFound as error:
            raise DeployError(f"{error}: set AWS_PROFILE to one that is in ~/.aws/config, or unset it") from None
        if not self.local:
            return made
        # The local Lambda is anywhere, and takes any keys unless it was told which.
        keys = {} if made.get_credentials() else {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        return boto3.session.Session(region_name=made.region_name or "us-east-1", **keys)

    @property
    def region(self) -> str:
        return str(self.session.region_name or "us-east-1")

    @cached_property
    def partition(self) -> str:
        """aws, but in China and for governments."""
        return str(self.session.get_partition_for_region(self.region)) if not self.local else "aws"

    @cached_property
    def account(self) -> str:
        if self.local:
            return "000000000000"
        return str(self.call("sts", "get_caller_identity")["Account"])

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        """One call; what passes by itself is waited for."""
        client = self.client(service, operation)
        end = time.monotonic() + PATIENCE
        pause = 0.5
        while True:
            self.calls.append((service, operation))
            try:
                return getattr(client, operation)(**arguments)
            except Exception as error:
                if not may_pass(error) or time.monotonic() + pause > end:
                    raise fault(error, service, operation, self.region) from error
            self.pause(pause)
            pause = min(pause * 1.6, 8.0)

    def find(self, service: str, operation: str, **arguments: Any) -> Any | None:
        """A read; None where there is no such thing."""
        try:
            return self.call(service, operation, **arguments)
        except DeployError as error:
            from botocore.exceptions import ClientError  # which is there, since it was asked

            cause = error.__cause__
            if isinstance(cause, ClientError) and _code(cause) in _ABSENT:
                return None
            raise

    def drop(self, service: str, operation: str, **arguments: Any) -> None:
        """A deletion; what is gone already is as wanted."""
        self.find(service, operation, **arguments)

    def wait(self, service: str, waiter: str, **arguments: Any) -> None:
        made = self.client(service).get_waiter(waiter)
        from botocore.exceptions import WaiterError

        try:
            made.wait(**arguments, WaiterConfig={"Delay": 1, "MaxAttempts": 300})
        except WaiterError as error:
            raise fault(error, service, waiter, self.region) from error

    def look(self, what: str, **asked: str | float) -> Any:
        """What the local Lambda tells those who watch it."""
        assert self.local and self.endpoint_url is not None
        found = _get(f"{self.endpoint_url.rstrip('/')}/_/{what}?{urlencode(asked)}")
        if found is None:
            raise DeployError(f"the local Lambda at {self.endpoint_url} does not answer: is it still there?")
        return found

    def client(self, service: str, operation: str = "") -> Any:
        """An invocation may take fifteen minutes, and is paid for each time that it is sent."""
        asks = operation.startswith("invoke")
        key = f"{service} invoke" if asks else service
        if key not in self._clients:
            session = self.session  # first: it says what to install where there is no boto3
            from botocore.config import Config

            tries, patience = (1, 910) if asks else (3, 60)
            retries = {"mode": "standard", "total_max_attempts": tries}
            config = Config(retries=retries, connect_timeout=10, read_timeout=patience)
            try:
                self._clients[key] = session.client(service, endpoint_url=self.endpoint_url, config=config)
            except Exception as error:
                raise fault(error, service, operation, self.region) from error
        return self._clients[key]


_ABSENT = {
    "ResourceNotFoundException",
    "NoSuchEntity",
    "NoSuchEntityException",
    "404",
    "NoSuchBucket",
    "NoSuchPublicAccessBlockConfiguration",
    "NotFound",
    "ProvisionedConcurrencyConfigNotFoundException",
    "ObjectNotFoundException",
    "RepositoryNotFoundException",
    "RepositoryPolicyNotFoundException",
    "ImageNotFoundException",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
    "StateMachineDoesNotExist",
    "NoSuchKey",
}


def is_local(endpoint_url: str | None) -> bool:
    """Whether an address is the local Lambda's, where there are functions and nothing else."""
    found = None if endpoint_url is None else _get(f"{endpoint_url.rstrip('/')}/_/")
    return isinstance(found, dict) and "functions" in found


def _get(url: str) -> Any:
    """JSON from an address; None where there is none."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - the address that a person gave
            return json.loads(answer.read(_MOST_SAID))
    except (OSError, ValueError):
        return None


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def connect(region: str | None, endpoint_url: str | None) -> Aws:
    """AWS, or what stands in for it at an address; the local Lambda is known by its answer."""
    endpoint_url = endpoint_url or os.environ.get("AWS_ENDPOINT_URL") or None
    return Aws(region=region, endpoint_url=endpoint_url, local=is_local(endpoint_url))
