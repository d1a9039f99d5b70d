"""Function URLs: each function and alias may have one, under this server's own address.

Names of Lambda's form do not lead here, so a URL is a path: http://127.0.0.1:9000/_/url/ID/. Who sends such a name
all the same (Host: ID.lambda-url.…) is understood too.
"""

import json
import re
from secrets import choice
from string import ascii_lowercase, digits
from typing import Any

from coldpress.emulate.control import errors, names
from coldpress.emulate.control.calls import Call, Said, mapping, now, one_of, page, whole
from coldpress.emulate.control.fleet import VersionFleet
from coldpress.emulate.control.plane import Plane
from coldpress.emulate.control.store import Function
from coldpress.emulate.front.function_url import FunctionUrl, UrlSettings
from coldpress.emulate.sandboxes.invocation import ACCOUNT, Invocation
from coldpress.emulate.wire import Request

PREFIX = "/_/url/"
_AUTH = ("NONE", "AWS_IAM")
_MODES = ("BUFFERED", "RESPONSE_STREAM")
_LISTS = ("AllowHeaders", "AllowMethods", "AllowOrigins", "ExposeHeaders")
_UNSAFE = re.compile(r"[\r\n\0]")


def create(plane: Plane, call: Call) -> Said:
    function, qualifier = _draft(plane, call)
    if qualifier in function.urls:
        raise errors.conflict(
            f"FunctionUrlConfig exists for this Lambda function: {names.arn(function.name, qualifier)}"
        )
    if one_of(call.body, "AuthType", _AUTH) is None:
        raise errors.invalid(f"AuthType is missing: it can be {', '.join(_AUTH)}")
    made = {"id": "".join(choice(ascii_lowercase + digits) for _ in range(32)), "InvokeMode": "BUFFERED"}
    function.urls[qualifier] = {**made, "CreationTime": now(), **_said(call.body)}
    told = _save(plane, call, function, qualifier)
    del told["LastModifiedTime"]  # which only those have that could have been changed
    return told


def get(plane: Plane, call: Call) -> Said:
    function, qualifier = _draft(plane, call)
    _known(function, qualifier)
    return _told(call, function, qualifier)


def update(plane: Plane, call: Call) -> Said:
    function, qualifier = _draft(plane, call)
    function.urls[qualifier] = {**_known(function, qualifier), **_said(call.body)}
    return _save(plane, call, function, qualifier)


def delete(plane: Plane, call: Call) -> None:
    function, qualifier = _draft(plane, call)
    _known(function, qualifier)
    del function.urls[qualifier]
    plane.store.save(function)


def list_of(plane: Plane, call: Call) -> Said:
    function = plane.function(call.target[0])
    shown, more = page(call, sorted(function.urls), str)
    return {"FunctionUrlConfigs": [_told(call, function, one) for one in shown], **more}


def find(plane: Plane, url_id: str) -> tuple[Function, str] | None:
    """Whose URL it is, and of which qualifier."""
    for function in plane.store.functions.values():
        for qualifier, url in function.urls.items():
            if url["id"] == url_id:
                return function, qualifier
    return None


class PlacedUrl(FunctionUrl):
    """A URL as it was configured. Who may use it was checked before: a signature covers the whole path."""

    def __init__(self, fleet: VersionFleet, url: dict[str, Any], arn: str) -> None:
        cors = url.get("Cors", {})
        settings = UrlSettings(None, tuple(cors.get("AllowOrigins", ())), url["InvokeMode"] == "RESPONSE_STREAM")
        super().__init__(fleet, settings)
        self._url = url
        self._arn = arn

    def _event(self, request: Request, invocation: Invocation) -> dict[str, Any]:
        invocation.arn = self._arn
        event = super()._event(request, invocation)
        signed = self._url["AuthType"] == "AWS_IAM"
        context = event["requestContext"]
        context |= {"accountId": ACCOUNT if signed else "anonymous", "apiId": self._url["id"]}
        context["domainPrefix"] = self._url["id"]
        return event

    def _cors(self, request: Request) -> dict[str, str]:
        found, cors = super()._cors(request), self._url.get("Cors", {})
        if not found:
            return found
        if cors.get("AllowCredentials"):
            found |= {
                "Access-Control-Allow-Credentials": "true",
                "Access-Control-Allow-Origin": _UNSAFE.sub(" ", request.headers["origin"]),
            }
        if cors.get("ExposeHeaders"):
            found["Access-Control-Expose-Headers"] = ",".join(cors["ExposeHeaders"])
        if request.method == "OPTIONS":
            found["Access-Control-Allow-Methods"] = ",".join(cors.get("AllowMethods", ()))
            found["Access-Control-Allow-Headers"] = ",".join(cors.get("AllowHeaders", ()))
            found["Access-Control-Max-Age"] = str(cors.get("MaxAge", 0))
        return found


def is_preflight(request: Request, url: dict[str, Any]) -> bool:
    """Browsers ask first, and cannot sign that."""
    wants_cors = bool(url.get("Cors", {}).get("AllowOrigins"))
    return wants_cors and request.method == "OPTIONS" and "origin" in request.headers


def refuse(request: Request, why: str) -> None:
    """As URLs refuse: the message with a capital letter."""
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": "AccessDeniedException"}
    request.connection.reply(403, headers, json.dumps({"Message": why}).encode())


def _draft(plane: Plane, call: Call) -> tuple[Function, str]:
    name, qualifier = call.target
    function = plane.draft(name, qualifier)
    plane.version(function, qualifier)
    if qualifier and qualifier not in function.aliases:
        raise errors.invalid(f"Qualifier is {qualifier!r}: a URL is for the function itself, or for an alias")
    return function, qualifier


def _known(function: Function, qualifier: str) -> dict[str, Any]:
    if qualifier not in function.urls:
        raise errors.not_found("The resource you requested does not exist.")
    return function.urls[qualifier]


def _said(body: Said) -> dict[str, Any]:
    said: dict[str, Any] = {
        "AuthType": one_of(body, "AuthType", _AUTH),
        "InvokeMode": one_of(body, "InvokeMode", _MODES),
        "LastModifiedTime": now(),
    }
    if (cors := mapping(body, "Cors")) is not None:
        said["Cors"] = _checked(cors)
    return {name: value for name, value in said.items() if value is not None}


def _checked(cors: Said) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in _LISTS:
        given = cors.get(name)
        if given is None:
            continue
        if not isinstance(given, list) or not all(
            isinstance(one, str) and not _UNSAFE.search(one) for one in given
        ):
            raise errors.invalid(f"Cors.{name} must be a list of texts")
        made[name] = given
    if (age := whole(cors, "MaxAge", 0, 86400)) is not None:
        made["MaxAge"] = age
    if cors.get("AllowCredentials") is not None:
        made["AllowCredentials"] = cors["AllowCredentials"] is True
    return made


def _save(plane: Plane, call: Call, function: Function, qualifier: str) -> Said:
    plane.store.save(function)
    return _told(call, function, qualifier)


def _told(call: Call, function: Function, qualifier: str) -> Said:
    url = function.urls[qualifier]
    shown = {name: value for name, value in url.items() if name != "id"}
    return {
        "FunctionUrl": f"{call.base}{PREFIX}{url['id']}/",
        "FunctionArn": names.arn(function.name, qualifier),
        **shown,
    }
