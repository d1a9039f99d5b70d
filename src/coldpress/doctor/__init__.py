"""The doctor: what will hurt, found before it does, and the fix. One small function for each check."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from coldpress.artifact import Artifact
from coldpress.doctor.case import Case
from coldpress.doctor.case import Settings as Settings
from coldpress.doctor.finding import LEVELS, yellow
from coldpress.doctor.finding import Finding as Finding


def examine(folder: Path | None, settings: Settings | None = None) -> list[Finding]:
    """An artifact and how it is to be run; without a folder this machine and the AWS account.

    The worst comes first. A check that has nothing to look at is left out; one that cannot look says so, and the
    others go on. Only a folder that is no artifact is an error."""
    if folder is None:
        return _sorted(examine_machine() + examine_account())
    case = Case(Artifact.open(folder), settings or Settings())
    again = f"build the artifact again: coldpress build MODEL --out {folder}"
    return _sorted(_looked([partial(check, case) for check in _artifact_checks()], again))


def examine_machine() -> list[Finding]:
    from coldpress.doctor import machine

    checks: list[Callable[[], Finding | None]] = [*machine.CHECKS]
    return _looked([partial(check) for check in checks], "install coldpress again")


def examine_account() -> list[Finding]:
    """Who we are for AWS and what we may do there: asked, with three seconds' patience."""
    from coldpress.doctor import account
    from coldpress.doctor.aws import ask

    said = ask()
    return _looked([partial(check, said) for check in account.CHECKS], "try: aws sts get-caller-identity")


def _artifact_checks() -> list[Callable[[Case], Finding | None]]:
    from coldpress.doctor import environment, files, graph, image, libraries, measured, run, size

    modules = (size, image, files, libraries, graph, measured, run, environment)
    return [check for module in modules for check in module.CHECKS]


def _looked(checks: "Sequence[partial[Finding | None]]", otherwise: str) -> list[Finding]:
    found = []
    for check in checks:
        try:
            finding = check()
        except Exception as error:  # noqa: BLE001 - what is looked at was written by others, and may be anything
            finding = yellow(
                check.func.__name__.replace("_", " "),
                f"could not be looked at: {type(error).__name__}: {error}",
                why="what is not seen here is seen on Lambda",
                fix=otherwise,
            )
        if finding is not None:
            found.append(finding)
    return found


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))
