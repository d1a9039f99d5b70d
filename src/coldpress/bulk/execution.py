"""One run of the state machine: started, or found running; watched to its end; stopped when a person says so."""

import json
import time
from typing import Any

from coldpress.bulk import machine
from coldpress.bulk.job import TOLERATED_PERCENT
from coldpress.bulk.outcome import Tally, read_outcome
from coldpress.bulk.places import Bucketed
from coldpress.deploy.aws import PATIENCE, Aws
from coldpress.errors import DeployError, Interrupted
from coldpress.progress import Say

_PAUSE, _LONGEST_PAUSE = 1.0, 10.0
_DENIED = "AccessDenied"
#: as Step Functions says that too many stretches failed: the rest is kept all the same
_TOO_MANY = "States.ExceedToleratedFailureThreshold"


class Execution:
    def __init__(self, aws: Aws, name: str, to: Bucketed) -> None:
        self._aws = aws
        self._to = to
        self._machine = f"arn:{aws.partition}:states:{aws.region}:{aws.account}:stateMachine:{name}"
        self._arn = ""
        self._patient_until = 0.0
        self._said: dict[str, Any] = {}

    def find_running(self) -> bool:
        """Whether the same job runs already: its command was killed, and it went on without it."""
        found = self._aws.find(
            "stepfunctions", "list_executions", stateMachineArn=self._machine, statusFilter="RUNNING"
        )
        own = [one for one in (found or {}).get("executions", []) if one["name"].startswith(self._mark)]
        self._arn = own[0]["executionArn"] if own else ""
        return bool(own)

    def start(self, arn: str, concurrency: int, *, patient: bool) -> None:
        """`patient`: its role is new, and refusals may pass."""
        self._machine = arn
        self._patient_until = time.monotonic() + PATIENCE if patient else 0.0
        self._said = {
            "bucket": self._to.bucket,
            "stretches": machine.stretches_key(self._to),
            "results": machine.results_prefix(self._to),
            "concurrency": concurrency,
            "tolerated": TOLERATED_PERCENT,
        }
        self._start()

    def watch(self, say: Say, tally: Tally, each: float) -> None:
        """Until it ends; `each` is what a stretch costs, about."""
        pause = _PAUSE
        try:
            while True:
                found = self._aws.call("stepfunctions", "describe_execution", executionArn=self._arn)
                say(self._progress(each))
                if found["status"] != "RUNNING":
                    if not self._may_try_again(found):
                        break
                    self._start()
                self._aws.pause(pause)
                pause = min(pause * 1.3, _LONGEST_PAUSE)
        except KeyboardInterrupt:
            self._aws.call("stepfunctions", "stop_execution", executionArn=self._arn)
            raise Interrupted(
                "interrupted, and stopped on AWS; what is answered is kept: the same command with --resume goes on"
            ) from None
        read_outcome(self._aws, found.get("output", "") or self._output_of_failed(), self._to.below, tally)
        if found["status"] != "SUCCEEDED" and found.get("error") != _TOO_MANY:
            raise DeployError(
                f"the state machine's run {self._arn} ended as {found['status']}: {found.get('error', '')} "
                f"{found.get('cause', '')}; the same command with --resume goes on with what is left"
            )

    @property
    def _mark(self) -> str:
        return f"map-{machine.mark(self._to)}-"

    def _start(self) -> None:
        name = f"{self._mark}{time.time_ns() // 1_000_000:x}"
        said = json.dumps(self._said)
        done = self._aws.call(
            "stepfunctions", "start_execution", stateMachineArn=self._machine, name=name, input=said
        )
        self._arn = str(done["executionArn"])

    def _may_try_again(self, found: dict[str, Any]) -> bool:
        """A role that is new is refused for some seconds."""
        denied = _DENIED in f"{found.get('error', '')} {found.get('cause', '')}"
        return bool(self._said) and denied and time.monotonic() < self._patient_until

    def _map_run(self) -> dict[str, Any]:
        runs = self._aws.call("stepfunctions", "list_map_runs", executionArn=self._arn).get("mapRuns", [])
        if not runs:
            return {}
        found: dict[str, Any] = self._aws.call("stepfunctions", "describe_map_run", mapRunArn=runs[0]["mapRunArn"])
        return found

    def _progress(self, each: float) -> str:
        counts = self._map_run().get("itemCounts")
        if not counts:
            return "starting"
        done, failed = counts["succeeded"], counts["failed"] + counts["timedOut"] + counts["aborted"]
        words = f"{done:,} of {counts['total']:,} stretches, {counts['running']:,} running, {failed:,} failed"
        return f"{words}, about ${done * each:,.4f}" if each else words

    def _output_of_failed(self) -> str:
        """A run that failed says nothing of its results, which are where they were to be written all the same."""
        runs = self._aws.call("stepfunctions", "list_map_runs", executionArn=self._arn).get("mapRuns", [])
        if not runs:
            return ""
        key = f"{machine.results_prefix(self._to)}/{runs[0]['mapRunArn'].rpartition(':')[2]}/manifest.json"
        return json.dumps({"ResultWriterDetails": {"Bucket": self._to.bucket, "Key": key}})
