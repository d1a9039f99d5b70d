"""Settings that do not go together on Lambda, whatever the function is."""

from coldpress.doctor.case import TMP_MB, Case
from coldpress.doctor.finding import Finding, green, red, yellow

#: accounts start with this limit of a function's memory, until a support case lifts it
_NEW_ACCOUNT_MB = 3008
_SNAPSTART_FROM = (3, 12)


def snapstart(case: Case) -> Finding | None:
    """SnapStart excludes what cannot be part of a snapshot."""
    settings = case.settings
    if not settings.snapstart:
        return None
    wrong: dict[str, str] = {}
    if settings.provisioned:
        wrong[f"--provisioned {settings.provisioned}"] = "--provisioned 0, or leave --snapstart out"
    if settings.tmp_mb > TMP_MB:
        wrong[f"--tmp {settings.tmp_mb}"] = f"--tmp {TMP_MB}"
    if settings.efs:
        wrong["a network file system (EFS)"] = "pack the files into the function, and leave --efs out"
    if case.python < _SNAPSTART_FROM:
        wrong[f"python{case.python[0]}.{case.python[1]}"] = "--runtime python3.12 or later"
    if wrong:
        return red(
            "SnapStart",
            f"together with {', '.join(wrong)}",
            why="Lambda refuses the function: InvalidParameterValueException",
            fix="; ".join(wrong.values()),
        )
    return green("SnapStart", "goes with all that is asked for")


def account_memory(case: Case) -> Finding | None:
    if case.memory_mb <= _NEW_ACCOUNT_MB:
        return None
    return yellow(
        "memory, new accounts",
        f"{case.memory_mb} MB; a new account may have {_NEW_ACCOUNT_MB} at most",
        why="Lambda refuses the function: MemorySize value failed to satisfy constraint",
        fix=f"--memory {_NEW_ACCOUNT_MB}, or ask AWS Support to lift the limit (it costs nothing)",
    )


def provisioned(case: Case) -> Finding | None:
    """Concurrency that is kept warm is taken from the account's, which keeps 100 for all other functions."""
    number = case.settings.provisioned
    if number <= 900:
        return None
    return yellow(
        "provisioned concurrency",
        f"{number}; an account has 1,000 by default, and 100 of them stay unreserved",
        why="Lambda refuses more: LimitExceededException",
        fix="--provisioned 900, or ask for more: aws service-quotas request-service-quota-increase "
        "--service-code lambda --quota-code L-B99A9384 --desired-value N",
    )


CHECKS = [snapstart, account_memory, provisioned]
