"""Lambda's REST paths, and who answers them."""

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import unquote

from coldpress.emulate.control import (
    aliases,
    concurrency,
    errors,
    functions,
    mappings,
    permissions,
    tags,
    urls,
    versions,
)
from coldpress.emulate.control.calls import Call, Said
from coldpress.emulate.control.plane import Plane

Answer = Said | None
Operation = Callable[[Plane, Call], Answer | Awaitable[Answer]]

_FUNCTIONS = "/2015-03-31/functions"
_ONE = f"{_FUNCTIONS}/{{FunctionName}}"
_ALIAS = f"{_ONE}/aliases/{{Name}}"
_RESERVED = "/2017-10-31/functions/{FunctionName}/concurrency"
_PROVISIONED = "/2019-09-30/functions/{FunctionName}/provisioned-concurrency"
_URL = "/2021-10-31/functions/{FunctionName}/url"
_MAPPINGS = "/2015-03-31/event-source-mappings"
_MAPPING = f"{_MAPPINGS}/{{UUID}}"
_TAGS = "/2017-03-31/tags/{Resource}"


class Route(NamedTuple):
    name: str
    method: str
    path: str
    operation: Operation
    status: int = 200


def _provisioned(plane: Plane, call: Call) -> Answer:
    """One path, two operations."""
    if call.asked("List"):
        return concurrency.list_provisioned(plane, call)
    return concurrency.get_provisioned(plane, call)


ROUTES = (
    Route("CreateFunction", "POST", _FUNCTIONS, functions.create, 201),
    Route("ListFunctions", "GET", _FUNCTIONS, functions.list_all),
    Route("GetFunction", "GET", _ONE, functions.get),
    Route("DeleteFunction", "DELETE", _ONE, functions.delete, 204),
    Route("GetFunctionConfiguration", "GET", f"{_ONE}/configuration", functions.get_configuration),
    Route("UpdateFunctionConfiguration", "PUT", f"{_ONE}/configuration", functions.update_configuration),
    Route("UpdateFunctionCode", "PUT", f"{_ONE}/code", functions.update_code),
    Route("PublishVersion", "POST", f"{_ONE}/versions", versions.publish, 201),
    Route("ListVersionsByFunction", "GET", f"{_ONE}/versions", versions.list_of),
    Route("CreateAlias", "POST", f"{_ONE}/aliases", aliases.create, 201),
    Route("ListAliases", "GET", f"{_ONE}/aliases", aliases.list_of),
    Route("GetAlias", "GET", _ALIAS, aliases.get),
    Route("UpdateAlias", "PUT", _ALIAS, aliases.update),
    Route("DeleteAlias", "DELETE", _ALIAS, aliases.delete, 204),
    Route("AddPermission", "POST", f"{_ONE}/policy", permissions.add, 201),
    Route("GetPolicy", "GET", f"{_ONE}/policy", permissions.get),
    Route("RemovePermission", "DELETE", f"{_ONE}/policy/{{StatementId}}", permissions.remove, 204),
    Route("PutFunctionConcurrency", "PUT", _RESERVED, concurrency.put_reserved),
    Route("DeleteFunctionConcurrency", "DELETE", _RESERVED, concurrency.delete_reserved, 204),
    Route(
        "GetFunctionConcurrency",
        "GET",
        "/2019-09-30/functions/{FunctionName}/concurrency",
        concurrency.get_reserved,
    ),
    Route("PutProvisionedConcurrencyConfig", "PUT", _PROVISIONED, concurrency.put_provisioned, 202),
    Route("GetProvisionedConcurrencyConfig", "GET", _PROVISIONED, _provisioned),
    Route("DeleteProvisionedConcurrencyConfig", "DELETE", _PROVISIONED, concurrency.delete_provisioned, 204),
    Route("CreateFunctionUrlConfig", "POST", _URL, urls.create, 201),
    Route("GetFunctionUrlConfig", "GET", _URL, urls.get),
    Route("UpdateFunctionUrlConfig", "PUT", _URL, urls.update),
    Route("DeleteFunctionUrlConfig", "DELETE", _URL, urls.delete, 204),
    Route("ListFunctionUrlConfigs", "GET", f"{_URL}s", urls.list_of),
    Route("CreateEventSourceMapping", "POST", _MAPPINGS, mappings.create, 202),
    Route("ListEventSourceMappings", "GET", _MAPPINGS, mappings.list_of),
    Route("GetEventSourceMapping", "GET", _MAPPING, mappings.get),
    Route("UpdateEventSourceMapping", "PUT", _MAPPING, mappings.update, 202),
    Route("DeleteEventSourceMapping", "DELETE", _MAPPING, mappings.delete, 202),
    Route("TagResource", "POST", _TAGS, tags.add, 204),
    Route("UntagResource", "DELETE", _TAGS, tags.remove, 204),
    Route("ListTags", "GET", _TAGS, tags.list_of),
    Route("GetAccountSettings", "GET", "/2016-08-19/account-settings", functions.account),
)
#: which bring code, and may be as large as a zip in base64
WITH_CODE = ("CreateFunction", "UpdateFunctionCode")
_PATTERNS = tuple(
    (route, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path) + "/?")) for route in ROUTES
)


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Who answers, and what the path says."""
    for route, pattern in _PATTERNS:
        if route.method == method and (found := pattern.fullmatch(path)):
            return route, {name: unquote(value) for name, value in found.groupdict().items()}
    raise errors.unknown(method, path)
