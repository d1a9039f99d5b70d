"""What AWS refuses, in words: the call, the cause, and what to do next."""

from coldpress.errors import DeployError

#: by AWS's own name of an error: what it means here, and the next step
_MEANS = {
    "AccessDenied": "these credentials may not do that: allow {action} for them, or use others (AWS_PROFILE)",
    "AccessDeniedException": "these credentials may not do that: allow {action} for them, or use "
    "others (AWS_PROFILE)",
    "UnrecognizedClientException": "the key is not one of AWS's: look at AWS_ACCESS_KEY_ID, AWS_PROFILE",
    "InvalidClientTokenId": "the key is not one of AWS's: look at AWS_ACCESS_KEY_ID, AWS_PROFILE",
    "ExpiredToken": "the credentials have expired: log in again (aws sso login)",
    "ExpiredTokenException": "the credentials have expired: log in again (aws sso login)",
    "SignatureDoesNotMatch": "the secret does not belong to the key, or this machine's clock is wrong",
    "RequestTimeTooSkewed": "this machine's clock is wrong: set it (timedatectl set-ntp true)",
    "CodeStorageExceededException": "the region's 75 GB of code are used up: coldpress prune, or ask AWS for more",
    "TooManyRequestsException": "AWS is asked too often; it was tried again for a minute: try later",
    "ResourceConflictException": "the function is being changed by somebody else: try again when that is done",
    "ServiceQuotaExceededException": "a quota of the account is used up: ask AWS for more (Service Quotas)",
    "ImageNotFound": "the image is not in the registry: deploy again, which sends it",
}
_ROLE = "cannot be assumed by Lambda"
_CONCURRENCY = "UnreservedConcurrentExecution"


def _of(error: Exception) -> tuple[str, str]:
    """AWS's name of an error, and its words."""
    response = getattr(error, "response", None) or {}
    said = response.get("Error", {})
    return str(said.get("Code", type(error).__name__)), str(said.get("Message", error))


def may_pass(error: Exception) -> bool:
    """Whether it is worth to ask again in a while."""
    code, words = _of(error)
    if code in ("TooManyRequestsException", "ThrottlingException", "Throttling", "ServiceException"):
        return True
    if code == "ResourceConflictException":
        return "update is in progress" in words or "Pending" in words or "in the following state" in words
    return code == "InvalidParameterValueException" and _ROLE in words


def fault(error: Exception, service: str, operation: str, region: str) -> Exception:
    """An error of AWS's in words; any other is given back as it is."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        EndpointConnectionError,
        NoCredentialsError,
        NoRegionError,
        PartialCredentialsError,
        WaiterError,
    )

    kinds = {
        NoCredentialsError: "there are no AWS credentials: aws configure, or set AWS_PROFILE",
        PartialCredentialsError: "the AWS credentials are not whole ({error}): aws configure, or set AWS_PROFILE",
        NoRegionError: "no region is set: --region, or AWS_REGION",
        EndpointConnectionError: "{error}; is there such a region, and a network?",
        WaiterError: "it did not come to its end ({error}); coldpress status shows where it is",
        BotoCoreError: "{error}",
    }
    call = f"{service}.{operation} in {region}"
    if isinstance(error, ClientError):
        return DeployError(_refused(error, service, operation, call))
    words = next((words for kind, words in kinds.items() if isinstance(error, kind)), None)
    return error if words is None else DeployError(f"{call}: {words.format(error=error)}")


def _refused(error: Exception, service: str, operation: str, call: str) -> str:
    code, words = _of(error)
    action = f"{service}:{''.join(part.title() for part in operation.split('_'))}"
    means = _MEANS.get(code, "")
    if _ROLE in words:
        means = "the role cannot be used yet, or never by Lambda: look at its trust policy"
    elif _CONCURRENCY in words:
        means = "the account has not enough concurrency left: ask for less, or ask AWS for more"
    said = f"{call} was refused: {code}: {words}"
    return f"{said}; {means.format(action=action)}" if means else said
