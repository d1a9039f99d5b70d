"""One handler, many ways to end."""

import ctypes
import decimal
import os
import signal
import sys
import time


class Refused(Exception):
    pass


def handler(event, context):
    if not isinstance(event, dict) or "do" not in event:
        return event
    return globals()[f"do_{event['do']}"](event, context)


def do_echo(event, context):
    return event["value"]


def do_context(event, context):
    left = context.get_remaining_time_in_millis()
    return {
        "id": len(context.aws_request_id),
        "version": context.function_version,
        "left": 0 < left <= 2100,
        "region": context.invoked_function_arn.split(":")[3],
        "client": context.client_context is not None,
    }


def do_large(event, context):
    return "x" * event["size"]


def do_count(event, context):
    return len(event["value"])


def do_print(event, context):
    print("said on standard output")
    print("said on standard error", file=sys.stderr)
    return "printed"


def do_raise(event, context):
    raise {"ValueError": ValueError, "Refused": Refused, "KeyError": KeyError}[event["kind"]](event["value"])


def do_nested(event, context):
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise Refused("outer") from error


def do_recurse(event, context):
    return do_recurse(event, context)


def do_interrupt(event, context):
    raise KeyboardInterrupt


def do_sys_exit(event, context):
    sys.exit(event["code"])


def do_exit(event, context):
    os._exit(event["code"])


def do_signal(event, context):
    signal.signal(event["number"], signal.SIG_DFL) if event["number"] != signal.SIGKILL else None
    os.kill(os.getpid(), event["number"])
    time.sleep(5)


def do_crash(event, context):
    ctypes.string_at(0)


def do_sleep(event, context):
    time.sleep(event["seconds"])
    return "slept"


def do_set(event, context):
    return {"set": {1, 2}}


def do_bytes(event, context):
    return b"bytes"


def do_object(event, context):
    return object()


def do_circular(event, context):
    made = []
    made.append(made)
    return made


def do_nan(event, context):
    return [float("nan"), float("inf")]


def do_decimal(event, context):
    return {"decimal": decimal.Decimal("1.10")}


def do_tuple(event, context):
    return (1, "two", None)


def do_keys(event, context):
    return {1: "number", None: "none", True: "true"}


def do_surrogate(event, context):
    return "\ud800"
