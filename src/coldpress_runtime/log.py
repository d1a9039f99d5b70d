"""The function's log: one line per entry on standard error, as text or as JSON."""

from sys import stderr

from coldpress_runtime.settings import choice, variable


def error(message: str, request_id: str, trouble: BaseException) -> None:
    """Log a fault of our own with its stack, in one write so that lines never mix."""
    from traceback import format_exception

    stack = "".join(format_exception(type(trouble), trouble, trouble.__traceback__))
    kinds = ("json", "text") if variable("AWS_LAMBDA_LOG_FORMAT") == "JSON" else ("text", "json")
    if choice("COLDPRESS_LOG", *kinds) == "json":
        from coldpress_runtime.jsontext import dumps

        line = dumps({"level": "ERROR", "message": message, "requestId": request_id, "stack": stack})
    else:
        line = f"[ERROR] {request_id} {message}\n{stack}".rstrip()
    stderr.write(line + "\n")
    stderr.flush()
