"""The Function URL of the alias, and who may call it."""

from coldpress.deploy.parts.url import OPEN
from coldpress.deploy.wanted import Wanted
from coldpress.export.parts.function import LIVE
from coldpress.export.stack import Condition, If, Of, Output, Parameter, Part, Resource

URL = "Url"
#: a door may be closed when deploying, and never be opened: from what was asked for to what is stricter.
#: Not from a token to IAM: who signs a request has no place left for a token in it.
_STRICTER = {"iam": ("iam", "none"), "token": ("token", "none"), "public": ("public", "iam", "none")}


def part(wanted: Wanted) -> Part:
    if wanted.url == "none":
        return Part()
    modes = _STRICTER[wanted.url]
    mode = Parameter("UrlMode", "Who may call the URL; none: there is none.", wanted.url, allowed=modes)
    there = Condition("HasUrl", "UrlMode", "none", equal=False)
    wide = Condition("UrlIsOpen", "UrlMode", wanted.url)
    is_open = wanted.url in ("token", "public")
    url = Resource(
        URL,
        "AWS::Lambda::Url",
        {
            "TargetFunctionArn": Of(LIVE),
            "AuthType": If(wide.name, "NONE", "AWS_IAM") if "iam" in modes[1:] else _auth(wanted),
        },
        "Of the alias, so that it stays when the version changes.",
        condition=there.name,
    )
    doors = [_door(sid, allowed, wide.name) for sid, allowed in OPEN.items()] if is_open else []
    address = Output("Url", "Where it answers.", Of(URL, "FunctionUrl"), there.name)
    return Part((url, *doors), (mode,), (there, wide) if is_open else (there,), (address,))


def _auth(wanted: Wanted) -> str:
    return "AWS_IAM" if wanted.url == "iam" else "NONE"


def _door(sid: str, allowed: dict[str, object], condition: str) -> Resource:
    key = "Allow" + sid.removeprefix("coldpress-").title()
    at_the_door = "FunctionUrlAuthType" in allowed
    return Resource(
        key,
        "AWS::Lambda::Permission",
        {"FunctionName": Of(LIVE), "Principal": "*", **allowed},
        "Everybody may be at the door." if at_the_door else "And come in by it, and by no other.",
        condition=condition,
        name=sid,
    )
