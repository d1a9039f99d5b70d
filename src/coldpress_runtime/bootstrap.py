"""The loop at the heart of a sandbox: fetch an invocation, answer it, again.

Started by the `bootstrap` beside this package. What runs before the first answer is the cold
start: nothing is imported here that the first answer does not need.
"""

import sys
from time import monotonic_ns

from coldpress_runtime import trace

trace.mark("interpreter")

from coldpress_runtime import settings  # noqa: E402 - the interpreter's own time ends above
from coldpress_runtime.function import Function  # noqa: E402
from coldpress_runtime.runtime_api import Invocation, Lost, RuntimeApi, kind_of  # noqa: E402

trace.mark("imports")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldpress_runtime.parallel import Serve


def main(root: str) -> int:
    address = settings.variable("AWS_LAMBDA_RUNTIME_API")
    if not address:
        sys.stderr.write(
            "AWS_LAMBDA_RUNTIME_API is not set: this program answers Lambda's Runtime API.\n"
            'To try the function on this machine: coldpress invoke DIR --data \'{"text": "hi"}\'\n'
        )
        return 2
    api = RuntimeApi(address)
    began = monotonic_ns()
    serve: Serve = _serve
    try:
        if settings.choice("COLDPRESS_STREAM", "off", "on") == "on":
            from coldpress_runtime import streaming

            serve = streaming.serve
        function = Function(root, load=settings.choice("COLDPRESS_LOAD", "init", "first-request") == "init")
    except Exception as trouble:
        _log("the function could not be loaded", "init", trouble)
        api.fail_init(kind_of(trouble), str(trouble))
        return 1
    if settings.metrics():
        from coldpress_runtime.metrics import Meter

        serve = Meter(function, serve, (monotonic_ns() - began) / 1e6)
    many = settings.variable("AWS_LAMBDA_MAX_CONCURRENCY")
    try:
        if settings.variable("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
            from coldpress_runtime import snapstart

            snapstart.rest(api, function)
        if many.isdecimal() and int(many) > 1:
            from coldpress_runtime.parallel import serve_many

            raise Lost(serve_many(address, function, serve, int(many)))
        while True:
            invocation = api.next()
            settings.carry_trace(invocation.headers.get("lambda-runtime-trace-id", ""))
            serve(api, function, invocation)
            trace.report()
    except Lost as lost:
        sys.stderr.write(f"{lost}\n")
        return 1


def _serve(api: RuntimeApi, function: Function, invocation: Invocation) -> None:
    request_id = invocation.request_id
    try:
        answer = function.answer(invocation.take())
    except Exception as trouble:
        _log("a request failed", request_id, trouble)
        api.fail(request_id, kind_of(trouble), str(trouble))
        return
    trace.mark("answer")
    api.respond(request_id, answer.encode())


def _log(message: str, request_id: str, trouble: BaseException) -> None:
    from coldpress_runtime import log

    log.error(message, request_id, trouble)
