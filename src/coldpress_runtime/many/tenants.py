"""Who asks, and for which models that is allowed: told by a header, or by the token that comes with a request."""

from coldpress_runtime.faults import BadRequest
from coldpress_runtime.token import digest_of, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldpress_runtime.http import Request


class Tenants:
    """`said` is the index's: {"header": NAME or null, "tenants": {NAME: {"models": […], "token_sha256": …}}}."""

    def __init__(self, said: "dict[str, Any]") -> None:
        self._header: str | None = said.get("header")
        self._models: dict[str, list[str]] = {name: one["models"] for name, one in said["tenants"].items()}
        #: the hash of a token is looked up, never the token: how long that takes tells nothing about it
        self._by_token = {
            one["token_sha256"]: name for name, one in said["tenants"].items() if "token_sha256" in one
        }

    @property
    def by_header(self) -> bool:
        return self._header is not None

    def models(self, request: "Request") -> list[str]:
        """The models that whoever sent it may ask for, the usual one first."""
        if self._header is not None:
            name = request.headers.get(self._header)
            if name is None:
                raise BadRequest(400, "missing_header", f"the header {self._header} is missing: it says who asks")
            if name not in self._models:
                raise BadRequest(
                    403, "unknown_tenant", f"the header {self._header} names {name[:40]!r}, nobody known"
                )
            return self._models[name]
        said = request.headers.get("authorization", "")
        name = self._by_token.get(digest_of(said))
        if name is None:
            raise refused(said)
        return self._models[name]
