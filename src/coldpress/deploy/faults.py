"""What AWS refuses, in words: the call, the cause, and what to do next."""

from coldpress.errors import DeployError

#: by AWS's own name of an error: what it means here, and the next step
_MEANS = {
    "AccessDenied": "these credentials may not do that: allow {action} for them, or use others (AWS_PROFILE)",
    "AccessDeniedException": "these credentials may not do that: allow {action} for them, or use "
    "others (AWS_PROFILE)",
    "UnrecognizedClientException": "the key is not one of AWS's, or the region is not enabled for the account: "
    "look at AWS_ACCESS_KEY_ID, AWS_PROFILE, --region",
    "InvalidClientTokenId": "the key is not one of AWS's: look at AWS_ACCESS_KEY_ID, AWS_PROFILE",
    "ExpiredToken": "the credentials have expired: log in again (aws sso login)",
    "ExpiredTokenException": "the credentials have expired: log in again (aws sso login)",
    "SignatureDoesNotMatch": "the secret does not belong to the key, or this machine's clock is wrong",
    "InvalidSignatureException": "the secret does not belong to the key, or this machine's clock is wrong",
    "RequestTimeTooSkewed": "this machine's clock is wrong: set it (timedatectl set-ntp true)",
    "CodeStorageExceededException": "the region's 75 GB of code are used up: coldpress prune, or ask AWS for more",
    "TooManyRequestsException": "AWS is asked too often; it was tried again for a minute: try later",
    "ResourceConflictException": "the function is being changed by somebody else: try again when that is done",
    "ServiceQuotaExceededException": "a quota of the account is used up: ask AWS for more (Service Quotas)",
}
#: the same by words of theirs, where one name stands for many errors
_ROLE = "cannot be assumed by Lambda"
_IMAGE_DENIED = "permission to access the ECR image"
_WORDS = {
    _ROLE: "the role cannot be used yet, or never by Lambda: look at its trust policy",
    _IMAGE_DENIED: "the repository's policy must let lambda.amazonaws.com read it: deploy again, which sets it",
    "UnreservedConcurrentExecution": "the account has not enough concurrency left: ask for less, or AWS for more",
    "Source image": "the image is not in the registry: deploy again, which sends it",
    "less than or equal to 3008": "new accounts are held to 3,008 MB: --memory 3008, or ask AWS for more",
}


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
    return code == "InvalidParameterValueException" and (_ROLE in words or _IMAGE_DENIED in words)


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
    means = next((means for known, means in _WORDS.items() if known in words), _MEANS.get(code, ""))
    said = f"{call} was refused: {code}: {words}"
    return f"{said}; {means.format(action=action)}" if means else said
