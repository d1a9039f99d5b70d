"""The AWS account: whether there are keys, whose, and whether they open what deploying needs."""

from coldpress.doctor.aws import NEEDED, PATIENCE, SOMETIMES, Said
from coldpress.doctor.finding import Finding, few, green, red, yellow
from coldpress.words import days_text

#: seconds: AWS refuses what is signed more than five minutes off
_SKEW_REFUSED, _SKEW_SEEN = 300.0, 60.0
#: AWS's words for keys that are no good, and what to do
_FIXES = {
    "InvalidClientTokenId": "these keys are not known: make new ones, or check AWS_PROFILE; aws configure",
    "UnrecognizedClientException": "these keys are not known: make new ones, or check AWS_PROFILE; aws configure",
    "SignatureDoesNotMatch": "the secret does not belong to the key, or the clock is wrong: aws configure",
    "ExpiredToken": "aws sso login, or get new temporary keys",
    "ExpiredTokenException": "aws sso login, or get new temporary keys",
    "RequestExpired": "set the clock: sudo timedatectl set-ntp true",
    "UnauthorizedSSOTokenError": "aws sso login",
    "SSOTokenLoadError": "aws sso login",
    "TokenRetrievalError": "aws sso login",
    "PartialCredentialsError": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, both",
    "ProfileNotFound": "check AWS_PROFILE against: aws configure list-profiles",
}
_LOCAL = "everything but deploying works without"


def credentials(said: Said) -> Finding:
    name = "AWS credentials"
    if not said.installed:
        why = f"deploying needs it; {_LOCAL}"
        return yellow(name, "boto3 is not installed", why=why, fix="pip install 'coldpress[aws]'")
    if said.account:
        if said.arn.endswith(":root"):
            return yellow(
                name,
                f"account {said.account}, as its root user",
                why="whoever gets these keys owns the account",
                fix="make a user or a role for deploying, and delete the root user's keys",
            )
        return green(name, f"account {said.account}, as {said.arn.rpartition(':')[2]}, from {said.found_in}")
    if said.code:
        return _refused(name, said)
    if said.late:
        return yellow(
            name,
            f"no answer within {PATIENCE:g} s{f' (keys from {said.found_in})' if said.found_in else ''}",
            why="it is not known whether the keys are good",
            fix="check the network and AWS_ENDPOINT_URL: aws sts get-caller-identity",
        )
    return yellow(
        name,
        "none found",
        why=f"deploying needs some; {_LOCAL}",
        fix="aws configure, or aws sso login, or AWS_PROFILE",
    )


def region(said: Said) -> Finding | None:
    if not said.installed:
        return None
    if said.region:
        return green("AWS region", said.region)
    return yellow(
        "AWS region",
        "none is set",
        why="deploying needs one",
        fix="export AWS_REGION=us-east-1, or aws configure set region us-east-1",
    )


def clock(said: Said) -> Finding | None:
    if said.ahead is None:
        return None
    off = abs(said.ahead)
    what = f"{days_text(off)} {'ahead of' if said.ahead > 0 else 'behind'} AWS's"
    fix = "sudo timedatectl set-ntp true (in WSL: sudo hwclock -s)"
    if off > _SKEW_REFUSED:
        why = "AWS refuses what is signed more than five minutes off: SignatureDoesNotMatch, RequestExpired"
        return red("clock", what, why=why, fix=fix)
    if off > _SKEW_SEEN:
        why = "AWS refuses what is signed more than five minutes off, and the clock drifts on"
        return yellow("clock", what, why=why, fix=fix)
    return green("clock", "less than a minute off AWS's")


def permissions(said: Said) -> Finding | None:
    """As AWS simulates them, for any resource; a policy that names resources may look stricter than it is."""
    if not said.account:
        return None
    name = "AWS permissions"
    if not said.decisions:
        reason = " ".join(said.unsimulated.split())[:200] or f"no answer within {PATIENCE:g} s"
        return yellow(
            name,
            f"cannot be checked: {reason}",
            why="what is not allowed is only found when deploying",
            fix="allow iam:SimulatePrincipalPolicy (and iam:GetRole), or just try: coldpress deploy DIR --dry-run",
        )
    denied = [action for action, decision in said.decisions.items() if decision != "allowed"]
    needed = [f"{action} ({NEEDED[action]})" for action in denied if action in NEEDED]
    others = [f"{action} ({SOMETIMES[action]})" for action in denied if action in SOMETIMES]
    fix = (
        f"have these allowed for {said.arn}: {', '.join(denied)}. A policy that names resources may "
        "allow them all the same: they were simulated for any"
    )
    if needed:
        return red(name, f"not allowed: {few(needed, 5)}", why="deploying fails: AccessDenied", fix=fix)
    if others:
        why = "some ways of deploying fail: AccessDenied"
        return yellow(name, f"not allowed: {few(others, 5)}", why=why, fix=fix)
    return green(name, f"all {len(said.decisions)} actions that deploying may take")


def _refused(name: str, said: Said) -> Finding:
    fix = _FIXES.get(
        said.code, "aws sts get-caller-identity shows the same; check keys, network, AWS_ENDPOINT_URL"
    )
    what = f"{f'from {said.found_in}: ' if said.found_in else ''}{said.code}: {said.error}"[:300]
    if said.code in _FIXES:
        return red(name, what, why="AWS does not take these keys, and deploying fails", fix=fix)
    return yellow(name, what, why="it is not known whether the keys are good", fix=fix)


CHECKS = [credentials, region, clock, permissions]
