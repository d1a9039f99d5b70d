"""CloudFormation: AWS's own linter has no objection, and what a template makes is what deploy makes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deploy_account import connect, deploy
from export_account import state
from export_cases import CASES, SAID, pressed, text, wanted
from export_made import by_deploy, by_template
from export_moto import STAND_INS, every_stream, number
from export_templates import parsed, resources

from coldpress.deploy import plan as planning
from coldpress.deploy.parts.role import role_name
from coldpress.deploy.wanted import Wanted
from coldpress.export.model import stack

TEMPLATE = "template.yaml"


def lint(*templates: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "cfn-lint"), "--regions", "us-east-1", "eu-west-1", "--"]
    command += map(str, templates)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_linter_has_no_objection(tmp_path: Path) -> None:
    """For either region, with every rule that it has by default, to CloudFormation and to SAM."""
    written = []
    for kind in ("cloudformation", "sam"):
        for case in CASES:
            written.append(tmp_path / f"{kind}-{case}.yaml")
            written[-1].write_text(text(kind, wanted(tmp_path, case), TEMPLATE), encoding="utf-8")
    found = lint(*written)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_the_linter_would_have_objected(tmp_path: Path) -> None:
    written = [tmp_path / f"{kind}.yaml" for kind in ("cloudformation", "sam")]
    for one in written:
        content = text(one.stem, wanted(tmp_path, "plain"), TEMPLATE)
        one.write_text(content.replace("MemorySize: !Ref", "Memory: !Ref").replace("!Ref LogRetention", "2"))
    found = lint(*written).stdout
    assert found.count("'Memory' was unexpected") == found.count("E3030 2 is not one of") == 2


@pytest.mark.parametrize("case", CASES)
def test_it_makes_what_deploy_makes(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared by the calls that deploy makes: names, settings, documents, all of it."""
    wish = wanted(tmp_path, case)
    made = by_template(resources(parsed(text("cloudformation", wish, TEMPLATE))))
    assert made == by_deploy(wish, monkeypatch)


def test_a_difference_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = by_template(resources(parsed(text("cloudformation", wanted(tmp_path, "settings"), TEMPLATE))))
    other = by_deploy(wanted(tmp_path, "settings", tags={}, url="token"), monkeypatch)
    assert {name for name in made if made[name] != other[name]} == {"log", "role", "function", "url", "doors"}


@pytest.mark.parametrize(
    ("url", "mode", "auth", "doors"),
    [
        ("iam", "iam", "AWS_IAM", 0),
        ("iam", "none", None, 0),
        ("token", "token", "NONE", 2),
        ("token", "none", None, 0),
        ("public", "public", "NONE", 2),
        ("public", "iam", "AWS_IAM", 0),
        ("public", "none", None, 0),
    ],
)
def test_a_door_can_be_closed(tmp_path: Path, url: str, mode: str, auth: str | None, doors: int) -> None:
    template = parsed(text("cloudformation", wanted(tmp_path, "plain", url=url), TEMPLATE))
    made = by_template(resources(template, UrlMode=mode))
    assert [one for _, one in made["url"]] == ([auth] if auth else [])
    assert len(made["doors"]) == doors
    assert mode in template["Parameters"]["UrlMode"]["AllowedValues"]


@pytest.mark.parametrize("url", ["iam", "none"])
@pytest.mark.parametrize("kind", ["cloudformation", "sam"])
def test_no_door_is_there_to_be_opened(tmp_path: Path, url: str, kind: str) -> None:
    template = parsed(text(kind, wanted(tmp_path, "plain", url=url), TEMPLATE))
    assert "AWS::Lambda::Permission" not in json.dumps(template) and '"NONE"' not in json.dumps(template)
    assert "public" not in template["Parameters"].get("UrlMode", {}).get("AllowedValues", [])


def version(wish: Wanted, **said: str) -> tuple[str, str, str | None]:
    """Its name, its description and its code: a change of any publishes another."""
    made = resources(parsed(text("cloudformation", wish, TEMPLATE)), **said)
    ((key, one),) = [(key, one) for key, one in made.items() if one["Type"] == "AWS::Lambda::Version"]
    assert one["DeletionPolicy"] == one["UpdateReplacePolicy"] == "Retain"
    return key, one["Properties"]["Description"], one["Properties"].get("CodeSha256")


def test_a_change_publishes_a_version_and_nothing_else_does(tmp_path: Path) -> None:
    """Lambda refuses a version of a function that has not changed, and so the stack would fail."""
    wish = wanted(tmp_path, "token")
    same = version(wish)
    assert version(wish) == same
    other = Wanted("small", pressed(tmp_path / "other", b"two"), package="zip", url="token")
    assert version(other)[0] != same[0] and version(other)[2] != same[2]
    assert version(wanted(tmp_path, "token", env={"NEW": "1"}))[0] != same[0]
    for said in ({"MemorySize": "1024"}, {"Timeout": "5"}, {"TokenSha256": "cd" * 32}):
        assert version(wish, **said)[0] == same[0] and version(wish, **said)[1] != same[1]
    for said in ({"LogRetention": "30"}, {"CodeBucket": "another"}, {"CodeKey": "a copy"}, {"UrlMode": "none"}):
        assert version(wish, **said) == same
    for more in ({"tags": {"team": "ml"}}, {"reserved": 3}, {"provisioned": 2}, {"memory_mb": 512}):
        key, description, code = version(wanted(tmp_path, "token", **more))
        assert (key, code) == (same[0], same[2]) and (description == same[1]) == ("memory_mb" not in more)


def test_a_long_name_leaves_room_for_the_region(tmp_path: Path) -> None:
    for length in (1, 39, 40, 64):
        wish = Wanted("n" * length, wanted(tmp_path, "plain").artifact)
        template = parsed(text("cloudformation", wish, TEMPLATE))
        begin = template["Resources"]["Role"]["Properties"]["RoleName"]["Fn::Sub"].removesuffix("${AWS::Region}")
        for region in ("eu-west-1", "ap-southeast-1", "us-gov-west-1"):
            assert len(begin + region) <= 64
            same = begin + region == role_name(wish.name, region)
            assert same == (length < 40 or region == "ap-southeast-1")


def test_an_image_is_known_by_its_digest(tmp_path: Path) -> None:
    wish = wanted(tmp_path, "image_token")
    name, same, code = version(wish)
    assert code is None and len(same) < 256
    elsewhere = SAID["ImageUri"].replace("coldpress-small", "elsewhere")
    assert version(wish, ImageUri=elsewhere) == (name, same, None)
    assert version(wish, ImageUri=elsewhere.replace("0123", "3210"))[1] != same


def test_what_replaces_a_version_is_as_aws_says() -> None:
    """By the schema that AWS publishes of the resource, as the linter brings it."""
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", "AWS::Lambda::Version").schema
    replacing = schema["createOnlyProperties"]
    assert {f"/properties/{name}" for name in ("FunctionName", "Description", "CodeSha256")} <= set(replacing)


@pytest.fixture
def cloud(account: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """moto's CloudFormation, with what it has not."""
    from moto.awslambda.models import LambdaVersion
    from moto.cloudformation import parsing
    from moto.logs.models import LogGroup

    known = parsing.get_model_map
    monkeypatch.setattr(parsing, "get_model_map", lambda: {**known(), **STAND_INS})
    monkeypatch.setattr(LambdaVersion, "get_cfn_attribute", number, raising=False)
    monkeypatch.setattr(LogGroup, "get_cfn_attribute", every_stream)
    return account


@pytest.mark.parametrize("case", ["plain", "token", "public", "closed", "settings"])
def test_a_stack_leaves_what_deploy_leaves(
    cloud: str, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """moto's CloudFormation gives a function no architecture, /tmp, log format or tags, and nothing that is kept
    ready: those are compared above, by the calls."""
    more: dict[str, Any] = {"provisioned": 0} if case == "public" else {}
    if case == "settings":
        more = {"tmp_mb": 512, "json_log": False, "tags": {}}
    wish = wanted(tmp_path, case, **more)
    aws = connect(cloud)
    where = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}
    aws.call("s3", "create_bucket", Bucket="bucket", **where)
    said = {one.name: SAID[one.name] for one in stack(wish).parameters if one.default is None}
    key = stack(wish).parameter("CodeKey").default
    assert wish.artifact.zip is not None
    aws.call("s3", "put_object", Bucket="bucket", Key=key, Body=wish.artifact.zip.read_bytes())
    arguments = {
        "StackName": "small",
        "TemplateBody": text("cloudformation", wish, TEMPLATE),
        "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in said.items()],
        "Capabilities": ["CAPABILITY_NAMED_IAM"],
    }
    aws.call("cloudformation", "create_stack", **arguments)
    (made,) = aws.call("cloudformation", "describe_stacks", StackName="small")["Stacks"]
    assert made["StackStatus"] == "CREATE_COMPLETE"
    outputs = {one["OutputKey"]: one["OutputValue"] for one in made["Outputs"]}
    assert outputs["LiveArn"].endswith(":function:small:live") and ("Url" in outputs) == (wish.url != "none")
    by_stack = state(cloud)
    _empty(cloud)
    monkeypatch.setattr(planning, "_token", lambda wish, *_: SAID["TokenSha256"] if wish.url == "token" else None)
    deploy(cloud, wish)
    assert by_stack == state(cloud)


def _empty(account: str) -> None:
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{account}/moto-api/reset", method="POST")).read()
