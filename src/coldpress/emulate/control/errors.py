"""What the control plane refuses, as Lambda names it."""

from coldpress.emulate.front.invoke_api import Refusal


def not_found(what: str) -> Refusal:
    return Refusal(404, "ResourceNotFoundException", what)


def no_provisioned(qualifier: str) -> Refusal:
    return Refusal(
        404,
        "ProvisionedConcurrencyConfigNotFoundException",
        f"No Provisioned Concurrency Config found for this function's {qualifier}",
    )


def conflict(what: str) -> Refusal:
    return Refusal(409, "ResourceConflictException", what)


def in_use(what: str) -> Refusal:
    return Refusal(400, "ResourceInUseException", what)


def invalid(what: str) -> Refusal:
    return Refusal(400, "InvalidParameterValueException", what)


def malformed(what: str) -> Refusal:
    return Refusal(400, "InvalidRequestContentException", what)


def other_revision(asked_of: str) -> Refusal:
    return Refusal(
        412,
        "PreconditionFailedException",
        "The RevisionId provided does not match the latest RevisionId. "
        f"Call the {asked_of} API to retrieve the latest RevisionId",
    )


def too_large(limit: int, operation: str) -> Refusal:
    return Refusal(
        413,
        "RequestTooLargeException",
        f"Request must be smaller than {limit} bytes for the {operation} operation",
    )


def storage_full(limit: int) -> Refusal:
    return Refusal(
        400,
        "CodeStorageExceededException",
        f"Code storage limit exceeded: all versions together may have {limit} bytes; delete old versions",
    )


def unknown(method: str, path: str) -> Refusal:
    return Refusal(404, "UnknownOperationException", f"{method} {path} is no operation that is served here")


def denied(what: str) -> Refusal:
    return Refusal(403, "AccessDeniedException", what)
