"""Environment variables: what Lambda refuses, and what the function itself would not start with."""

import json
import re
from collections.abc import Mapping

from coldpress.doctor.case import Case
from coldpress.doctor.files import secret_kinds
from coldpress.doctor.finding import Finding, few, green, red, yellow
from coldpress.emulate.world.cgroups import MB_PER_VCPU

#: bytes of all names and values, as Lambda counts them: written as JSON
MOST_BYTES = 4096
_NEAR = 0.9
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
#: those that Lambda sets itself; other names with AWS_ may be set
_RESERVED = {
    "_HANDLER",
    "_X_AMZN_TRACE_ID",
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "AWS_EXECUTION_ENV",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_INITIALIZATION_TYPE",
    "AWS_LAMBDA_LOG_GROUP_NAME",
    "AWS_LAMBDA_LOG_STREAM_NAME",
    "AWS_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_LAMBDA_MAX_CONCURRENCY",
    "LAMBDA_TASK_ROOT",
    "LAMBDA_RUNTIME_DIR",
}
#: settings of a running function and the words that they take; none where any value will do
_OWN: dict[str, tuple[str, ...]] = {
    "COLDPRESS_LOAD": ("init", "first-request"),
    "COLDPRESS_LOG": ("text", "json"),
    "COLDPRESS_METRICS": ("off", "on"),
    "COLDPRESS_MODEL_MEMORY": (),
    "COLDPRESS_PRELOAD": (),
    "COLDPRESS_SINK": (),
    "COLDPRESS_STREAM": ("off", "on"),
    "COLDPRESS_THREADS": (),
    "COLDPRESS_TOKEN_SHA256": (),
    "COLDPRESS_TRACE_INIT": (),
}
_MOST_THREADS = 64
#: half a vCPU: docs/decisions/0007
_MB_FOR_THREADS = 880


def environment_bytes(variables: Mapping[str, str]) -> int:
    return len(
        json.dumps(dict(variables), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    )


def environment_size(case: Case) -> Finding:
    name, size = "environment, size", environment_bytes(case.env)
    said = f"{size:,} of {MOST_BYTES:,} bytes"
    fix = "keep long values in a file of the function (`files` in coldpress.toml), or in AWS Parameter Store"
    if size > MOST_BYTES:
        return red(name, said, why="Lambda refuses more: InvalidParameterValueException", fix=fix)
    if size > _NEAR * MOST_BYTES:
        return yellow(name, said, why="one more variable may be too much", fix=fix)
    return green(name, said)


def environment_names(case: Case) -> Finding:
    name = "environment, names"
    taken = [variable for variable in case.settings.env if variable in _RESERVED]
    if taken:
        return red(
            name,
            f"{few(taken)}: reserved by Lambda",
            why="Lambda refuses the function: reserved keys that are currently not supported for modification",
            fix=f"leave {few(taken)} out; a region or a key for your own use needs another name",
        )
    odd = [variable for variable in case.settings.env if not _NAME.fullmatch(variable)]
    if odd:
        return red(
            name,
            f"{few([repr(one) for one in odd])}: names have two or more of A-Z a-z 0-9 _, a letter first",
            why="Lambda refuses the function: failed to satisfy constraint",
            fix=f"rename {few([repr(one) for one in odd])}",
        )
    return green(name, f"{len(case.settings.env)} of your own, none reserved")


def environment_secrets(case: Case) -> Finding | None:
    """By its form only; nothing of it is shown."""
    kinds = {
        variable: secret_kinds(f"{variable}={value}".encode("utf-8", "replace"))
        for variable, value in case.settings.env.items()
    }
    found = [f"{variable} holds {' and '.join(what)}" for variable, what in kinds.items() if what]
    if not found:
        return None
    return yellow(
        "environment, secrets",
        few(found),
        why="whoever may look at the function's configuration can read it",
        fix="give the function's role the permission instead, or keep the secret in AWS Secrets Manager",
    )


def own_settings(case: Case) -> Finding:
    """Those that start with COLDPRESS_: the function does not start with a word that it does not know."""
    name = "settings"
    own = {variable: value for variable, value in case.settings.env.items() if variable.startswith("COLDPRESS_")}
    wrong = [
        f"{variable}={value!r}; it can be: {', '.join(_OWN[variable])}"
        for variable, value in own.items()
        if _OWN.get(variable) and value and value not in _OWN[variable]
    ]
    digest = own.get("COLDPRESS_TOKEN_SHA256", "")
    if digest and not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
        wrong.append(f"COLDPRESS_TOKEN_SHA256 has {len(digest)} characters; it must be a sha256 in 64 hexadecimal")
    if wrong:
        return red(
            name, few(wrong), why="the function does not start, or lets nobody in", fix="set one of those values"
        )
    unknown = sorted(own.keys() - _OWN.keys())
    if unknown:
        return yellow(
            name,
            f"{few(unknown)}: no such setting",
            why="it changes nothing: misspelt?",
            fix=f"there are: {', '.join(_OWN)}",
        )
    return green(name, ", ".join(f"{variable}" for variable in own) or "all as they come")


def threads(case: Case) -> Finding:
    """Threads against the CPUs that a memory size buys."""
    name, asked, memory = "threads", case.settings.env.get("COLDPRESS_THREADS", ""), case.memory_mb
    shown = max(2, -(-memory // MB_PER_VCPU))
    share = f"{memory / MB_PER_VCPU:.2f} vCPU ({memory} MB)"
    if not asked:
        return green(name, f"{1 if memory < _MB_FOR_THREADS else shown} for {share}")
    if not (asked.isascii() and asked.isdecimal() and 1 <= int(asked) <= _MOST_THREADS):
        return red(
            name,
            f"COLDPRESS_THREADS={asked!r}; it must be a number from 1 to {_MOST_THREADS}",
            why="the function does not start",
            fix="leave COLDPRESS_THREADS out: the function takes what its memory buys",
        )
    most = 1 if memory < _MB_FOR_THREADS else shown
    if int(asked) > most:
        return yellow(
            name,
            f"{asked} for {share}, which is good for {most}",
            why="threads without a CPU wait for each other, and every request is slower",
            fix=f"--env COLDPRESS_THREADS={most}, or --memory {min(10_240, int(asked) * MB_PER_VCPU)}",
        )
    return green(name, f"{asked} for {share}")


CHECKS = [environment_size, environment_names, environment_secrets, own_settings, threads]
