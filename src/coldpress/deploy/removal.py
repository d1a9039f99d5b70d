"""What goes when a function goes, or its old versions: all that was made for it, and nothing that others use."""

from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.code import bucket_name, owned
from coldpress.deploy.parts.image import repository_name
from coldpress.deploy.parts.role import POLICY, is_ours, role_name
from coldpress.deploy.steps import DELETE, Step, keep
from coldpress.deploy.wanted import ALIAS

#: what `map` gave the role for a job; one that was killed has not taken it back
_OF_JOBS = "coldpress-map-"
#: ECR and S3 take as many in a call
_AT_ONCE = 100


def version(aws: Aws, name: str, number: str) -> Step:
    """SnapStart's snapshot of it goes along."""
    return Step(
        DELETE,
        f"version {number} of {name}",
        "",
        lambda: aws.drop("lambda", "delete_function", FunctionName=name, Qualifier=number),
    )


def url(aws: Aws, name: str, address: str) -> Step:
    return Step(
        DELETE,
        "URL",
        address,
        lambda: aws.drop("lambda", "delete_function_url_config", FunctionName=name, Qualifier=ALIAS),
    )


def function(aws: Aws, name: str, versions: list[str]) -> Step:
    detail = f"{len(versions)} versions" if versions else "no version"
    return Step(
        DELETE, f"function {name}", detail, lambda: aws.drop("lambda", "delete_function", FunctionName=name)
    )


def log(aws: Aws, name: str) -> list[Step]:
    group = f"/aws/lambda/{name}"
    if aws.local:
        return []
    found = aws.call("logs", "describe_log_groups", logGroupNamePrefix=group)["logGroups"]
    if not any(one["logGroupName"] == group for one in found):
        return []
    return [Step(DELETE, f"log {group}", "", lambda: aws.drop("logs", "delete_log_group", logGroupName=group))]


def role(aws: Aws, name: str) -> list[Step]:
    """Only one that was made for this function, that nobody has given more, and that no other function has."""
    if aws.local:
        return []
    own = role_name(name, aws.region)
    found = aws.find("iam", "get_role", RoleName=own)
    if found is None or not is_ours(found["Role"]):
        return []
    named = {"RoleName": own}
    inline = aws.call("iam", "list_role_policies", **named)["PolicyNames"]
    attached = aws.call("iam", "list_attached_role_policies", **named)["AttachedPolicies"]
    if attached or not all(one == POLICY or one.startswith(_OF_JOBS) for one in inline):
        return [keep(f"role {own}", "somebody has given it more: delete it by hand")]
    others = [one for one in _users(aws, found["Role"]["Arn"]) if one != name]
    if others:
        return [keep(f"role {own}", f"used by {', '.join(others[:3])}")]

    def act() -> None:
        for policy in inline:
            aws.drop("iam", "delete_role_policy", **named, PolicyName=policy)
        aws.drop("iam", "delete_role", **named)

    return [Step(DELETE, f"role {own}", "", act)]


def _users(aws: Aws, arn: str) -> list[str]:
    """Functions of this region that have the role."""
    found: list[str] = []
    more: dict[str, str] = {}
    while True:
        page = aws.call("lambda", "list_functions", **more)
        found += [str(one["FunctionName"]) for one in page["Functions"] if one.get("Role") == arn]
        if not page.get("NextMarker"):
            return found
        more = {"Marker": page["NextMarker"]}


def repository(aws: Aws, name: str) -> list[Step]:
    own = repository_name(name)
    if aws.local or aws.find("ecr", "describe_repositories", repositoryNames=[own]) is None:
        return []
    act = lambda: aws.drop("ecr", "delete_repository", repositoryName=own, force=True)  # noqa: E731
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
    """The code that came through the bucket: Lambda has copies of its own. An empty bucket goes too."""
    if aws.local:
        return []
    bucket = bucket_name(aws)
    own = owned(aws, bucket)
    keys: list[str] = []
    more: dict[str, str] = {}
    while True:
        page = aws.find("s3", "list_objects_v2", **own, **more)
        if page is None:
            return []
        keys += [one["Key"] for one in page.get("Contents", [])]
        if not page.get("NextContinuationToken"):
            break
        more = {"ContinuationToken": page["NextContinuationToken"]}
    mine = [key for key in keys if key.startswith(f"{name}/")]
    if keys and not mine:
        return []

    def act() -> None:
        for key in mine:
            aws.call("s3", "delete_object", **own, Key=key)
        if len(mine) == len(keys):
            aws.drop("s3", "delete_bucket", **own)

    words = f"{len(mine)} uploads" + (", and the bucket" if len(mine) == len(keys) else "")
    return [Step(DELETE, f"s3://{bucket}/{name}/", words, act)]
