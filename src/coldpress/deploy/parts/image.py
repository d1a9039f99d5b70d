"""An image: in a repository of its own, which Lambda may read for this one function; named by its digest."""

import base64
import hashlib
import json
import re
from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.package import Package
from coldpress.deploy.steps import CHANGE, CREATE, Facts, Step, keep
from coldpress.deploy.wanted import Wanted
from coldpress.errors import ArtifactError, DeployError
from coldpress.package.oci.credentials import Credentials
from coldpress.package.oci.image import Image, open_image
from coldpress.package.oci.push import push
from coldpress.package.oci.reference import Reference

#: what Lambda needs of a repository to run an image of it
PULL = ("ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
_LONGEST = 200


def repository_name(name: str) -> str:
    """A function's name in a repository's letters; where that loses any, they stay apart by a hash."""
    plain = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST]
    if plain == name:
        return f"coldpress-{plain}"
    return f"coldpress-{plain or 'function'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def policy(aws: Aws, name: str) -> dict[str, Any]:
    source = f"arn:{aws.partition}:lambda:{aws.region}:{aws.account}:function:{name}"
    return {
        "Version": "2008-10-17",
        "Statement": [
            {
                "Sid": "coldpress",
                "Effect": "Allow",
                "Principal": {"Service": "lambda.amazonaws.com"},
                "Action": list(PULL),
                "Condition": {"StringLike": {"aws:sourceArn": source}},
            }
        ],
    }


def package(aws: Aws, wanted: Wanted, facts: Facts) -> Package:
    if wanted.artifact.image is None:
        raise ArtifactError(f"{wanted.artifact.path} has no image: build it with --package image")
    if aws.local:
        raise DeployError(f"the local Lambda takes zips: build {wanted.artifact.path} with --package zip")
    image = open_image(wanted.artifact.image)
    repository = repository_name(wanted.name)
    suffix = "amazonaws.com.cn" if aws.partition == "aws-cn" else "amazonaws.com"
    uri = f"{aws.account}.dkr.ecr.{aws.region}.{suffix}/{repository}"
    size = sum(layer.size for layer in image.layers)
    return Package(
        image.digest.removeprefix("sha256:"),
        size / 1e6,
        lambda: _steps(aws, wanted, facts, image, repository, uri),
        lambda: {"ImageUri": f"{uri}@{image.digest}"},
    )


def _steps(aws: Aws, wanted: Wanted, facts: Facts, image: Image, repository: str, uri: str) -> list[Step]:
    named = {"repositoryName": repository}
    here = aws.find("ecr", "describe_repositories", repositoryNames=[repository]) is not None
    document = policy(aws, wanted.name)

    def allow() -> None:
        aws.call("ecr", "set_repository_policy", **named, policyText=json.dumps(document))

    def create() -> None:
        tags = [{"Key": key, "Value": value} for key, value in wanted.tags.items()]
        aws.call("ecr", "create_repository", **named, tags=tags)
        allow()

    made = []
    if not here:
        made.append(Step(CREATE, f"repository {repository}", "Lambda may read it for this function", create))
    else:
        found = aws.find("ecr", "get_repository_policy", **named)
        if found is None or json.loads(found["policyText"]) != document:
            made.append(Step(CHANGE, f"repository {repository}", "Lambda may read it for this function", allow))
        digest = [{"imageDigest": image.digest}]
        if aws.find("ecr", "describe_images", **named, imageIds=digest) is not None:
            return [*made, keep(f"image {image.digest[:19]}")]

    def send() -> None:
        push(image, _reference(f"{uri}:{image.digest[7:19]}"), facts.say, credentials=_login(aws))

    detail = f"{sum(layer.size for layer in image.layers) / 1e6:.1f} MB, as far as the repository has not got it"
    return [*made, Step(CREATE, f"image {image.digest[:19]}", detail, send)]


def _reference(text: str) -> Reference:
    return Reference.parse(text)


def _login(aws: Aws) -> Credentials:
    """For twelve hours, kept nowhere."""
    (given, *_) = aws.call("ecr", "get_authorization_token")["authorizationData"]
    name, _, password = base64.b64decode(given["authorizationToken"]).decode().partition(":")
    return Credentials(name, password)
