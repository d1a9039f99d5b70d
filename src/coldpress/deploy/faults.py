"""What AWS refuses, in words: the call, the cause, and what to do next."""

import re

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
    "ResourceConflictException": "it is being changed by somebody else, or still used: try again later",
    "403": "these credentials may not look at it, or somebody else has that name",
    "301": "it is in another region",
    "ServiceQuotaExceededException": "a quota of the account is used up: ask AWS for more (Service Quotas)",
}
#: the same by words of theirs, where one name stands for many errors
_ROLE = "cannot be assumed by Lambda"
_IMAGE_DENIED = "permission to access the ECR image"
#: of a role that is new to Step Functions
_STATES_ROLE = "is authorized to assume the provided role"
#: of a role that is new: its id has not come everywhere yet
_GRANT = "KMS key is invalid for CreateGrant"
#: while AWS moves what is kept ready from one version to the next
_MOVING = "Alias with weights can not be used with Provisioned Concurrency"
#: of a role whose policy is new, or that somebody else has to give it
_RECEIVE = "does not have permissions to call ReceiveMessage"
#: of a bucket that may invoke the function since a moment ago
_DESTINATION = "Unable to validate the following destination"
#: of a queue that was taken away a moment ago, and is to come back
_STILL_MAPPED = "An event source mapping with"
_WORDS = {
    _RECEIVE: "the role must allow sqs:ReceiveMessage, sqs:DeleteMessage and sqs:GetQueueAttributes on the queue",
    "Queue visibility timeout": "a message must stay hidden for as long as the function may take, better six "
    "times that: give the queue a longer visibility timeout, or the function a shorter --timeout",
    _ROLE: "the role cannot be used yet, or never by Lambda: look at its trust policy",
    _IMAGE_DENIED: "the repository's policy must let lambda.amazonaws.com read it: deploy again, which sets it",
    "UnreservedConcurrentExecution": "the account has not enough concurrency left: ask for less, or AWS for more",
    "Source image": "the image is not in the registry: deploy again, which sends it",
    "less than or equal to 3008": "new accounts are held to 3,008 MB: --memory 3008, or ask AWS for more",
}
#: whatever they are about; the last one is said of a mapping that is still being made or changed
_PASSING = (
    *("TooManyRequestsException", "ThrottlingException", "Throttling", "ServiceException"),
    "ResourceInUseException",
)
#: AWS says what is missing, mostly; and some actions are not called as their operations are
_ACTION = re.compile(r"not authorized to perform: ([A-Za-z0-9-]+:[A-Za-z0-9*]+)")
_ACTIONS = {
    "invoke": "lambda:InvokeFunction",
    "invoke_with_response_stream": "lambda:InvokeFunction",
    "head_bucket": "s3:ListBucket",
    "head_object": "s3:GetObject",
    "list_objects_v2": "s3:ListBucket",
    "get_public_access_block": "s3:GetBucketPublicAccessBlock",
    "put_public_access_block": "s3:PutBucketPublicAccessBlock",
}


def _of(error: Exception) -> tuple[str, str]:
    """AWS's name of an error, and its words."""
    response = getattr(error, "response", None) or {}
    said = response.get("Error", {})
    return str(said.get("Code", type(error).__name__)), str(said.get("Message", error))


def may_pass(error: Exception) -> bool:
    """Whether it is worth to ask again in a while."""
    code, words = _of(error)
    if code in _PASSING:
        return True
    if code == "ResourceConflictException":
        return any(
            one in words for one in ("update is in progress", "Pending", "in the following state", _STILL_MAPPED)
        )
    passing = (_ROLE, _IMAGE_DENIED, _GRANT, _MOVING, _RECEIVE, _DESTINATION, _STATES_ROLE)
    return any(one in words for one in passing)


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
        WaiterError: "it did not come to its end ({error}{reason}); coldpress status shows where it is",
        BotoCoreError: "{error}",
    }
    call = f"{service}.{operation} in {region}"
    if isinstance(error, ClientError):
        return DeployError(_refused(error, service, operation, call))
    words = next((words for kind, words in kinds.items() if isinstance(error, kind)), None)
    if words is None and type(error).__name__ == "ResponseParserError":
        words = "what answers there is not AWS, nor a local Lambda that takes these keys ({error})"
    if words is None:
        return error
    return DeployError(f"{call}: {words.format(error=error, reason=_reason(error))}")


def _reason(error: Exception) -> str:
    """What AWS says of a function that did not become what it should."""
    said = getattr(error, "last_response", None) or {}
    config = said.get("Configuration", said)
    found = config.get("StateReason") or config.get("LastUpdateStatusReason")
    return f": {found}" if found else ""


def _refused(error: Exception, service: str, operation: str, call: str) -> str:
    code, words = _of(error)
    named = _ACTION.search(words)
    action = named[1] if named else _ACTIONS.get(operation) or f"{service}:{operation.title().replace('_', '')}"
    means = next((means for known, means in _WORDS.items() if known in words), _MEANS.get(code, ""))
    said = f"{call} was refused: {code}: {words}"
    return f"{said}; {means.format(action=action)}" if means else said
