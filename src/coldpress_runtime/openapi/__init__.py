"""The OpenAPI document of a function, made from its task.json when somebody asks. One file per task."""

from coldpress_runtime.openapi.schema import described, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def document(spec: "dict[str, Any]") -> "dict[str, Any]":
    # One file per task, and only the one that is needed.
    part = __import__(f"coldpress_runtime.openapi.{spec['task'].replace('-', '_')}", fromlist=["paths"])
    return {
        "openapi": "3.1.0",
        "info": {"title": spec["name"], "version": str(spec["format"]), "description": part.summary(spec)},
        "paths": {
            **part.paths(spec),
            "/health": {"get": operation("Is the function up?", None, described({"status": {"type": "string"}}))},
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }
