"""A fault of our own costs one request, and is said."""

from __future__ import annotations  # else the closure's are evaluated for each request

import json
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec

from coldpress.emulate.wire import Request

_P = ParamSpec("_P")


def guarded(request: Request, act: Callable[_P, None]) -> Callable[_P, None]:
    """`act`, but what it raises becomes the request's answer."""

    def acted(*arguments: _P.args, **named: _P.kwargs) -> None:
        try:
            act(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            traceback.print_exc(file=sys.stderr)
            body = {"Type": "Service", "message": f"the emulator failed: {type(error).__name__}: {error}"}
            headers = {"Content-Type": "application/json", "X-Amzn-ErrorType": "ServiceException"}
            request.connection.reply(500, headers, json.dumps(body).encode())

    return acted
