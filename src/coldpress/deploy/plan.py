"""From what is there and what is wanted to steps; and the steps, done in their order."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts import alias, bucket, concurrency, function, logs, models, queue, role, scaling, url
from coldpress.deploy.steps import Facts, Step
from coldpress.deploy.wanted import ALIAS, CLOSED, OURS, Wanted
from coldpress.errors import DeployError, UsageError


@dataclass(frozen=True)
class Deployment:
    steps: list[Step]
    facts: Facts

    @property
    def changes(self) -> list[Step]:
        return [step for step in self.steps if step.writes]

    def run(
        self, told: Callable[[Step], None] = lambda step: None, say: Callable[[str], None] | None = None
    ) -> Facts:
        if say is not None:
            self.facts.say = say
        for step in self.changes:
            told(step)
            assert step.act is not None
            step.act()
        return self.facts


def plan(aws: Aws, wanted: Wanted) -> Deployment:
    """Reads only."""
    facts = Facts()
    name, alias_of = wanted.name, {"FunctionName": wanted.name, "Qualifier": ALIAS}
    queue.check(aws, wanted)
    allowed = role.plan(aws, wanted, facts)
    made = allowed.before + logs.steps(aws, wanted) + models.steps(aws, wanted)
    whole = aws.find("lambda", "get_function", FunctionName=name)
    found = whole["Configuration"] if whole else None
    _check_foreign(found, wanted)
    token = _token(wanted, facts, function.token_hash(found))
    changed = function.steps(aws, wanted, facts, found, token)
    made += changed + function.tag_steps(aws, wanted, whole)
    here = alias.read(aws, name) if found else None
    address = aws.find("lambda", "get_function_url_config", **alias_of) if here else None
    policy = url.read_policy(aws.find("lambda", "get_policy", **alias_of) if here else None)
    doors = url.steps(aws, wanted, facts, address, policy)
    reserved = aws.find("lambda", "get_function_concurrency", FunctionName=name) if found else None
    limits = concurrency.reserved_steps(aws, wanted, reserved)
    looser = concurrency.is_looser(wanted, reserved)
    if not looser:  # a tighter one comes before anything is opened, a looser one when all is guarded
        made += limits
    if wanted.canary and here and wanted.url in CLOSED and any(step.writes for step in doors):
        raise UsageError(
            "the URL is to be closed, which is done before a version without its guard gets traffic, and a canary "
            "that goes back would not open it again: deploy without --canary, or keep --url as it is"
        )
    if here and wanted.url in CLOSED:  # a door is closed before a version without a guard stands behind it
        made += doors
    wants = function.settings(wanted, facts, token)
    live = alias.steps(aws, wanted, facts, wants, here, changes=any(step.writes for step in changed))
    made += live
    ready = aws.find("lambda", "get_provisioned_concurrency_config", **alias_of) if here else None
    scaled = scaling.plan(aws, wanted, there=here is not None)
    moves = here is not None and any(step.writes for step in live)
    made += scaled.ended
    made += concurrency.provisioned_steps(aws, wanted, ready, scaled.held, moves=moves)
    made += scaled.made
    if not (here and wanted.url in CLOSED):
        made += doors
    if looser:
        made += limits
    made += queue.steps(aws, wanted, there=here is not None) + bucket.steps(aws, wanted, policy)
    made += allowed.after
    return Deployment(made, facts)


def _token(wanted: Wanted, facts: Facts, kept: str | None) -> str | None:
    """The hash of the bearer token: the one that is there, or of a new one, which is shown once."""
    if wanted.url != "token":
        return None
    if kept is None:
        facts.token = secrets.token_urlsafe(32)
        kept = hashlib.sha256(facts.token.encode()).hexdigest()
    return kept


def _check_foreign(found: dict[str, object] | None, wanted: Wanted) -> None:
    """A function of that name which cannot become ours is left alone."""
    if found is None:
        return
    kinds = {"Zip": "a zip", "Image": "an image"}
    have, want = str(found.get("PackageType", "Zip")), "Image" if wanted.image else "Zip"
    if OURS not in str(found.get("Description", "")) and not wanted.adopt:
        raise DeployError(
            f"there is a function {wanted.name} that coldpress did not make: take another --name, or say --adopt "
            f"to replace its code and settings"
        )
    if have != want:
        raise DeployError(
            f"there is a function {wanted.name} that is {kinds[have]}, and {wanted.artifact.path} is to be "
            f"{kinds[want]}; Lambda cannot change one into the other: take another --name, or delete it"
        )
