"""What goes when a function goes, or its old versions: all that was made for it, and nothing that others use."""

from typing import Any

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.code import bucket_name
from coldpress.deploy.parts.image import repository_name
from coldpress.deploy.parts.role import POLICY
from coldpress.deploy.steps import DELETE, Step
from coldpress.deploy.wanted import ALIAS

#: what the role's name begins with when it was made here
_OURS = "coldpress-"
#: ECR and S3 take as many in a call
_AT_ONCE = 100


def version(aws: Aws, name: str, number: str) -> Step:
    """SnapStart's snapshot of it goes along."""
    return Step(
        DELETE,
        f"version {number} of {name}",
        "",
        lambda: aws.call("lambda", "delete_function", FunctionName=name, Qualifier=number),
    )


def url(aws: Aws, name: str, address: str) -> Step:
    return Step(
        DELETE,
        "URL",
        address,
        lambda: aws.call("lambda", "delete_function_url_config", FunctionName=name, Qualifier=ALIAS),
    )


def function(aws: Aws, name: str, versions: list[str]) -> Step:
    detail = f"{len(versions)} versions" if versions else "no version"
    return Step(
        DELETE, f"function {name}", detail, lambda: aws.call("lambda", "delete_function", FunctionName=name)
    )


def log(aws: Aws, name: str) -> list[Step]:
    group = f"/aws/lambda/{name}"
    if aws.local:
        return []
    found = aws.call("logs", "describe_log_groups", logGroupNamePrefix=group)["logGroups"]
    if not any(one["logGroupName"] == group for one in found):
        return []
    return [Step(DELETE, f"log {group}", "", lambda: aws.call("logs", "delete_log_group", logGroupName=group))]


def role(aws: Aws, config: dict[str, Any]) -> list[Step]:
    """Only one that was made for this function."""
    name = str(config["Role"]).rpartition("/")[2]
    if aws.local or name != f"{_OURS}{config['FunctionName']}"[:64]:
        return []

    def act() -> None:
        if aws.find("iam", "get_role_policy", RoleName=name, PolicyName=POLICY) is not None:
            aws.call("iam", "delete_role_policy", RoleName=name, PolicyName=POLICY)
        aws.call("iam", "delete_role", RoleName=name)

    return [Step(DELETE, f"role {name}", "", act)]


def repository(aws: Aws, name: str, config: dict[str, Any]) -> list[Step]:
    if aws.local or config.get("PackageType") != "Image":
        return []
    own = repository_name(name)
    if aws.find("ecr", "describe_repositories", repositoryNames=[own]) is None:
        return []
    act = lambda: aws.call("ecr", "delete_repository", repositoryName=own, force=True)  # noqa: E731
    return [Step(DELETE, f"repository {own}", "with its images", act)]


def old_images(aws: Aws, name: str, used: set[str]) -> list[Step]:
    """Those that no version is made from any more."""
    own = repository_name(name)
    there: list[str] = []
    more: dict[str, str] = {}
    while True:
        page = aws.find("ecr", "describe_images", repositoryName=own, **more)
        there += [one["imageDigest"] for one in (page or {}).get("imageDetails", [])]
        if not page or not page.get("nextToken"):
            break
        more = {"nextToken": page["nextToken"]}
    old = sorted(digest for digest in there if digest.removeprefix("sha256:") not in used)
    if not old:
        return []

    def act() -> None:
        for begin in range(0, len(old), _AT_ONCE):
            digests = [{"imageDigest": digest} for digest in old[begin : begin + _AT_ONCE]]
            aws.call("ecr", "batch_delete_image", repositoryName=own, imageIds=digests)

    return [Step(DELETE, f"{len(old)} images", own, act)]


def uploads(aws: Aws, name: str) -> list[Step]:
    """The code that came through the bucket: Lambda has copies of its own."""
    if aws.local:
        return []
    bucket = bucket_name(aws)
    found = aws.find("s3", "list_objects_v2", Bucket=bucket, Prefix=f"{name}/")
    keys = [one["Key"] for one in (found or {}).get("Contents", [])]
    if not keys:
        return []

    def act() -> None:
        for key in keys:
            aws.call("s3", "delete_object", Bucket=bucket, Key=key)

    return [Step(DELETE, f"s3://{bucket}/{name}/", f"{len(keys)} uploads", act)]
