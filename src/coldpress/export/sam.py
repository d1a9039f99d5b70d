"""SAM: the same template, with function, version and alias in one resource, and the code sent by `sam deploy`."""

from typing import Any

from coldpress.artifact import ZIP
from coldpress.export import cloudformation
from coldpress.export.stack import Resource, Stack, untagged
from coldpress.export.yaml import Noted, Tagged, document

CONFIG = "samconfig.toml"


def files(stack: Stack) -> dict[str, str]:
    heading = f"{stack.name}, as `coldpress export sam` wrote it; README.md says how to deploy it."
    return {cloudformation.TEMPLATE: document(template(stack), heading), CONFIG: _config(stack)}


def template(stack: Stack) -> dict[str, Any]:
    written = cloudformation.template(stack)
    (function,) = stack.of_type("AWS::Lambda::Function")
    (version,) = stack.of_type("AWS::Lambda::Version")
    (alias,) = stack.of_type("AWS::Lambda::Alias")
    made = f"{function.key}Alias{alias.properties['Name']}"  # as SAM calls the alias that it makes
    resources = {
        key: _renamed(one, alias.key, made)
        for key, one in written["Resources"].items()
        if key not in (version.key, alias.key)
    }
    resources[function.key] = Noted(
        f"With a version for every change, and the alias {alias.properties['Name']} on it, which clients call.",
        {
            "Type": "AWS::Serverless::Function",
            "DependsOn": resources[function.key].value["DependsOn"],
            "Properties": _function(stack, function, version, alias),
        },
    )
    parameters = written["Parameters"]
    if stack.zip:  # sam deploy sends it to a bucket of its own, under a name that changes with it
        parameters = {name: one for name, one in parameters.items() if name not in ("CodeBucket", "CodeKey")}
    return {
        "AWSTemplateFormatVersion": written.pop("AWSTemplateFormatVersion"),
        "Transform": "AWS::Serverless-2016-10-31",
        **written,
        "Parameters": parameters,
        "Resources": resources,
        "Outputs": _renamed(written["Outputs"], alias.key, made),
    }


def _function(stack: Stack, function: Resource, version: Resource, alias: Resource) -> dict[str, Any]:
    properties = dict(function.properties)
    code = properties.pop("Code")
    named = {"CodeUri": ZIP} if stack.zip else {"ImageUri": code["ImageUri"]}
    if "Tags" in properties:
        properties["Tags"] = untagged(properties["Tags"])
    published = {
        "AutoPublishAlias": alias.properties["Name"],
        "AutoPublishAliasAllProperties": True,  # it sees what is written; the description has what is said
        "VersionDescription": version.properties["Description"],
    }
    ready = alias.properties.get("ProvisionedConcurrencyConfig")
    if ready:
        published["ProvisionedConcurrencyConfig"] = ready
    made: dict[str, Any] = cloudformation.value_in(
        stack, {"FunctionName": properties.pop("FunctionName"), **named, **properties, **published}
    )
    return made


def _renamed(value: Any, key: str, to: str) -> Any:
    """With other references to a resource."""
    made = value
    match value:
        case Noted():
            made = Noted(value.note, _renamed(value.value, key, to))
        case Tagged(tag="Ref") if value.value == key:
            made = Tagged("Ref", to)
        case {"DependsOn": list(after)}:
            named = [to if one == key else one for one in after]
            made = {name: named if name == "DependsOn" else _renamed(one, key, to) for name, one in value.items()}
        case dict():
            made = {name: _renamed(one, key, to) for name, one in value.items()}
        case list():
            made = [_renamed(one, key, to) for one in value]
    return made


def _config(stack: Stack) -> str:
    """So that `sam deploy` needs no options of its own."""
    return f"""version = 0.1

[default.deploy.parameters]
stack_name = "{stack.stack_name}"
capabilities = "CAPABILITY_NAMED_IAM"
resolve_s3 = true
"""
