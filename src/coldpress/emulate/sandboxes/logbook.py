"""The log as Lambda writes it: the platform's lines around the function's own, as text or as JSON."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone
from typing import NamedTuple

from coldpress.emulate.sandboxes.invocation import Report

_KEPT = 500
_TOLD_WITHIN = 0.01


class Entry(NamedTuple):
    at: float
    sandbox: str
    line: str


class Logbook:
    """Keeps the last lines, and hands them on a little later, several at once: no answer waits for a terminal."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.entries: deque[Entry] = deque(maxlen=_KEPT)
        self.listeners: list[Callable[[list[Entry]], None]] = []
        self._untold: list[Entry] = []

    def add(self, sandbox: str, line: str) -> None:
        entry = Entry(time.time(), sandbox, line)
        self.entries.append(entry)
        if not self._untold:
            asyncio.get_running_loop().call_later(_TOLD_WITHIN, self.flush)
        self._untold.append(entry)

    def flush(self) -> None:
        told, self._untold = self._untold, []
        if told:
            for listener in self.listeners:
                listener(told)

    def init_start(self, kind: str) -> str:
        if self.as_json:
            return _event("platform.initStart", {"initializationType": kind, "phase": "init"})
        return "INIT_START Runtime Version: coldpress-local"

    def init_failed(self, ms: float, phase: str, error_type: str) -> str:
        status = "timeout" if error_type == "timeout" else "error"
        if self.as_json:
            record: dict[str, object] = {"phase": phase, "status": status, "metrics": {"durationMs": round(ms, 3)}}
            return _event(
                "platform.initReport", record | ({} if status == "timeout" else {"errorType": error_type})
            )
        said = "" if status == "timeout" else f"\tError Type: {error_type}"
        return f"INIT_REPORT Init Duration: {ms:.2f} ms\tPhase: {phase}\tStatus: {status}{said}"

    def restore_start(self) -> str:
        if self.as_json:
            return _event("platform.restoreStart", {"runtimeVersion": "coldpress-local"})
        return "RESTORE_START Runtime Version: coldpress-local"

    def start(self, request_id: str) -> str:
        if self.as_json:
            return _event("platform.start", {"requestId": request_id, "version": "$LATEST"})
        return f"START RequestId: {request_id} Version: $LATEST"

    def end(self, report: Report) -> list[str]:
        if self.as_json:
            metrics: dict[str, object] = {
                "durationMs": round(report.duration_ms, 3),
                "billedDurationMs": report.billed_ms,
                "memorySizeMB": report.memory_mb,
                "maxMemoryUsedMB": _whole_mb(report.peak_mb),
            }
            if report.init_ms is not None:
                metrics["initDurationMs"] = round(report.init_ms, 3)
            if report.restore_ms is not None:
                metrics["restoreDurationMs"] = round(report.restore_ms, 3)
            record: dict[str, object] = {
                "requestId": report.request_id,
                "metrics": metrics,
                "status": report.status,
            }
            if report.error_type:
                record["errorType"] = report.error_type
            return [_event("platform.report", record)]
        parts = [
            f"REPORT RequestId: {report.request_id}",
            f"Duration: {report.duration_ms:.2f} ms",
            f"Billed Duration: {report.billed_ms} ms",
            f"Memory Size: {report.memory_mb} MB",
            f"Max Memory Used: {_whole_mb(report.peak_mb)} MB",
        ]
        if report.init_ms is not None:
            parts.append(f"Init Duration: {report.init_ms:.2f} ms")
        if report.restore_ms is not None:
            parts.append(f"Restore Duration: {report.restore_ms:.2f} ms")
        if report.status != "success":
            parts.append(f"Status: {report.status}")
            if report.status == "error":
                parts.append(f"Error Type: {report.error_type}")
        return [f"END RequestId: {report.request_id}", "\t".join(parts) + "\t"]


def _whole_mb(size: float) -> int:
    return max(1, -int(-size // 1))


def _event(kind: str, record: dict[str, object]) -> str:
    stamp = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": stamp, "type": kind, "record": record}, separators=(",", ":"))
