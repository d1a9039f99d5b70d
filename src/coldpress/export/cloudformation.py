"""CloudFormation: the stack as a template in YAML."""

from typing import Any

from coldpress.export.stack import (
    Digest,
    If,
    Joined,
    Of,
    Output,
    Param,
    Parameter,
    Region,
    Resource,
    Stack,
    leaves,
)
from coldpress.export.yaml import Noted, Tagged, document

TEMPLATE = "template.yaml"
#: what !Ref gives instead of the resource's name
_REFERENCE = {
    "AWS::Lambda::Function": "Name",
    "AWS::Lambda::Alias": "Arn",
    "AWS::ApplicationAutoScaling::ScalableTarget": "Id",
}
_LARGEST_DESCRIPTION = 1024


def files(stack: Stack) -> dict[str, str]:
    heading = f"{stack.name}, as `coldpress export cloudformation` wrote it; README.md says how to deploy it."
    return {TEMPLATE: document(template(stack), heading)}


def template(stack: Stack) -> dict[str, Any]:
    used = {
        one.name for resource in stack.resources for one in leaves(resource.properties) if isinstance(one, Param)
    }
    used |= {one.parameter for one in stack.conditions}
    written = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": stack.description[:_LARGEST_DESCRIPTION],
        "Parameters": {one.name: _parameter(one) for one in stack.parameters if one.name in used},
        "Conditions": {one.name: _condition(one.parameter, one.value, one.equal) for one in stack.conditions},
        "Resources": {one.key: Noted(one.says, _resource(stack, one)) for one in stack.resources},
        "Outputs": {one.key: _output(stack, one) for one in stack.outputs},
    }
    return {name: value for name, value in written.items() if value}


def value_in(stack: Stack, value: Any) -> Any:
    """With what is known only then as functions of CloudFormation."""
    made = value
    match value:
        case dict():
            made = {name: value_in(stack, one) for name, one in value.items()}
        case list():
            made = [value_in(stack, one) for one in value]
        case Param():
            made = Tagged("Ref", value.name)
        case Region():
            made = Tagged("Ref", "AWS::Region")
        case Of():
            made = Tagged("GetAtt", f"{value.resource}.{value.attribute}")
            if _REFERENCE.get(stack.resource(value.resource).type) == value.attribute:
                made = Tagged("Ref", value.resource)
        case Digest():
            made = Tagged("Select", [1, Tagged("Split", ["@sha256:", value_in(stack, value.image)])])
        case If():
            made = Tagged("If", [value.condition, value_in(stack, value.yes), value_in(stack, value.no)])
        case Joined():
            made = _joined(stack, value)
    return made


def _joined(stack: Stack, value: Joined) -> Tagged:
    if any(isinstance(one, Digest) for one in value.parts):
        return Tagged("Join", ["", [value_in(stack, one) for one in value.parts if one != ""]])
    written = ""
    for one in value.parts:
        if isinstance(one, str):
            written += one.replace("${", "${!")
        else:
            written += f"${{{value_in(stack, one).value}}}"
    return Tagged("Sub", written)


def _parameter(said: Parameter) -> dict[str, Any]:
    written = {
        "Type": "Number" if said.number else "String",
        "Description": said.says,
        "Default": said.default,
        "AllowedValues": list(said.allowed) or None,
        "MinValue": said.least,
        "MaxValue": said.most,
        "AllowedPattern": said.pattern,
        "NoEcho": said.secret or None,
    }
    return {name: value for name, value in written.items() if value is not None}


def _condition(parameter: str, value: str, equal: bool) -> Tagged:
    same = Tagged("Equals", [Tagged("Ref", parameter), value])
    return same if equal else Tagged("Not", [same])


def _resource(stack: Stack, resource: Resource) -> dict[str, Any]:
    return {
        "Type": resource.type,
        **({"Condition": resource.condition} if resource.condition else {}),
        **({"DependsOn": list(resource.after)} if resource.after else {}),
        **({"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"} if resource.keep else {}),
        "Properties": value_in(stack, resource.properties),
    }


def _output(stack: Stack, output: Output) -> dict[str, Any]:
    return {
        **({"Condition": output.condition} if output.condition else {}),
        "Description": output.says,
        "Value": value_in(stack, output.value),
    }
