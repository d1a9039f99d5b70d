"""SAM: the template, through AWS's own transform, makes what deploy makes."""

from pathlib import Path
from typing import Any

import pytest
from export_cases import CASES, SAID, text, wanted
from export_made import by_deploy, by_template
from export_templates import parsed, resources
from samtranslator.translator.transform import transform

from coldpress.deploy.wanted import Wanted


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


class _NoPolicies:
    """AWS's managed policies, of which none is asked for."""

    def load(self) -> dict[str, str]:
        return {}


def transformed(wish: Wanted, **said: str) -> dict[str, Any]:
    """As CloudFormation gets it, after `sam deploy` has sent the code."""
    template = parsed(
        text("sam", wish, "template.yaml").replace("CodeUri: function.zip", "CodeUri: s3://bucket/key")
    )
    made: dict[str, Any] = transform(template, {**SAID, **said}, _NoPolicies())
    return made


@pytest.mark.parametrize("case", CASES)
def test_it_makes_what_deploy_makes(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wish = wanted(tmp_path, case)
    made = by_template(resources(transformed(wish)))
    assert made["function"]["Tags"].pop("lambda:createdBy") == "SAM"  # SAM signs its work
    assert made == by_deploy(wish, monkeypatch)


def test_a_change_publishes_a_version(tmp_path: Path) -> None:
    """By its name for what is written; by its description for what is said, since the name does not know that."""

    def version(wish: Wanted, **said: str) -> tuple[str, str]:
        made = resources(transformed(wish, **said), **said)
        ((key, one),) = [(key, one) for key, one in made.items() if one["Type"] == "AWS::Lambda::Version"]
        assert one["DeletionPolicy"] == "Retain"
        return key, one["Properties"]["Description"]

    wish = wanted(tmp_path, "token")
    same = version(wish)
    assert version(wanted(tmp_path, "token", env={"NEW": "1"}))[0] != same[0]
    for said in ({"MemorySize": "1024"}, {"Timeout": "5"}, {"TokenSha256": "cd" * 32}):
        assert version(wish, **said)[1] != same[1]
    for said in ({"LogRetention": "30"}, {"UrlMode": "none"}):
        assert version(wish, **said) == same


def test_the_code_is_sent_by_sam(tmp_path: Path) -> None:
    template = parsed(text("sam", wanted(tmp_path, "plain"), "template.yaml"))
    assert template["Resources"]["Function"]["Properties"]["CodeUri"] == "function.zip"
    assert not {"CodeBucket", "CodeKey"} & template["Parameters"].keys()
    image = parsed(text("sam", wanted(tmp_path, "image"), "template.yaml"))
    assert image["Resources"]["Function"]["Properties"]["ImageUri"] == {"Ref": "ImageUri"}


def test_its_settings_are_toml(tmp_path: Path) -> None:
    import tomllib

    found = tomllib.loads(text("sam", wanted(tmp_path, "plain"), "samconfig.toml"))
    assert found["default"]["deploy"]["parameters"] == {
        "stack_name": "small",
        "capabilities": "CAPABILITY_NAMED_IAM",
        "resolve_s3": True,
    }
