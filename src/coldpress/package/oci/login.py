"""Getting in: a registry says what it wants to see, name and password or a token that somebody gives for them."""

import json
import re
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from coldpress.errors import RegistryError
from coldpress.package.oci.credentials import Credentials, find_credentials
from coldpress.package.oci.reference import Reference, is_loopback

_MOST_TEXT = 4_000_000
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_FORM = {"content-type": "application/x-www-form-urlencoded"}


class Login:
    """What to say when the registry of `reference` asks who we are. Credentials that are not given are looked up
    once, and late."""

    def __init__(
        self, reference: Reference, pool: urllib3.PoolManager, actions: str, given: Credentials | None = None
    ) -> None:
        self.scopes = [f"repository:{reference.repository}:{actions}"]
        self._reference = reference
        self._pool = pool
        self._found: tuple[Credentials | None] | None = (given,) if given is not None else None

    def authorization(self, challenge: str) -> str:
        """The header that answers a registry's `WWW-Authenticate`."""
        if self._found is None:
            self._found = (find_credentials(self._reference.registry),)
        (who,) = self._found
        registry = self._reference.registry
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic":
            if who is None or not who.name:
                raise RegistryError(f"{registry} asks who you are: log in with docker or podman", 401)
            return who.basic
        said = dict(_PARAMETER.findall(rest))
        if kind.lower() != "bearer" or "realm" not in said:
            raise RegistryError(f"{registry} asks to log in by {kind or 'no way that it names'}", 401)
        return f"Bearer {self._token(said['realm'], said.get('service', ''), who)}"

    def _token(self, realm: str, service: str, who: Credentials | None) -> str:
        check_encrypted(realm, self._reference)
        giver = urlsplit(realm).netloc
        try:
            answer = self._ask(realm, service, who)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise RegistryError(f"{giver}, which gives tokens, failed: {in_short(error)}") from None
        if answer.status != 200:
            known = "what you are logged in as" if who else "somebody who is not logged in (docker login)"
            repository = f"{self._reference.registry}/{self._reference.repository}"
            raise RegistryError(f"no access to {repository} for {known}: {giver} answers {answer.status}", 401)
        content = parsed(answer.data, f"the token of {giver}")
        token = content.get("token") or content.get("access_token")
        if not isinstance(token, str):
            raise RegistryError(f"{giver} answers without a token")
        return token

    def _ask(self, realm: str, service: str, who: Credentials | None) -> urllib3.BaseHTTPResponse:
        if who is not None and who.identity:
            form = {
                "grant_type": "refresh_token",
                "refresh_token": who.identity,
                "client_id": "coldpress",
                "service": service,
                "scope": " ".join(self.scopes),
            }
            return self._pool.request("POST", realm, body=urlencode(form), headers=_FORM, redirect=False)
        fields = [*([("service", service)] if service else []), *(("scope", scope) for scope in self.scopes)]
        mark = "&" if urlsplit(realm).query else "?"
        basic = {"authorization": who.basic} if who is not None else {}
        return self._pool.request("GET", f"{realm}{mark}{urlencode(fields)}", headers=basic, redirect=False)


def parsed(data: bytes, what: str) -> dict[str, Any]:
    """JSON from outside: an object, or an error that says what it was to be."""
    if len(data) > _MOST_TEXT:
        raise RegistryError(f"{what} has {len(data)} bytes; more than {_MOST_TEXT} cannot be one")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RegistryError(f"{what} is no JSON object")
    return content


def check_encrypted(url: str, reference: Reference) -> None:
    """Only a registry on this machine may send us to this machine without encryption."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (is_loopback(reference.host) and is_loopback(parts.netloc)):
        return
    raise RegistryError(f"{reference.registry} sends us to {parts.scheme}://{parts.netloc}, which is not https")


def in_short(error: Exception) -> str:
    """What broke, without addresses, whose queries may hold signatures."""
    reason = getattr(error, "reason", None) or error
    return re.sub(r"\(?<[^>]*>[,:)]*\s*|\?\S*", "", str(reason))[:200] or type(error).__name__
