"""CloudFormation: the stack as a template in YAML."""

import json
import re
from typing import Any

from coldpress.export.stack import (
    Account,
    Digest,
    If,
    Joined,
    Json,
    Of,
    Output,
    Param,
    Parameter,
    Partition,
    Region,
    Resource,
    Stack,
    leaves,
)
from coldpress.export.yaml import Noted, Tagged, Verbatim, document

TEMPLATE = "template.yaml"
#: what !Ref gives instead of the resource's name
_REFERENCE = {
    "AWS::IAM::Role": "Name",
    "AWS::Lambda::Function": "Name",
    "AWS::Lambda::Alias": "Arn",
    "AWS::ApplicationAutoScaling::ScalableTarget": "Id",
}
_LARGEST_DESCRIPTION = 1024
#: of a line of JSON
_WIDTH = 140


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
        case Account():
            made = Tagged("Ref", "AWS::AccountId")
        case Partition():
            made = Tagged("Ref", "AWS::Partition")
        case Json():
            made = Tagged("Sub", Verbatim(_document(stack, value)))
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
    return Tagged("Sub", "".join(_substituted(stack, one) for one in value.parts))


def _substituted(stack: Stack, value: Any) -> str:
    """A piece of what !Sub is given."""
    return value.replace("${", "${!") if isinstance(value, str) else f"${{{value_in(stack, value).value}}}"


def _document(stack: Stack, value: Json) -> str:
    """JSON as !Sub is given it: what is known only then stands in it bare if it is a number, else in quotes."""
    held: list[Any] = []

    def hold(one: Any) -> str:
        held.append(one)
        return f"\x00{len(held) - 1}\x00"

    def written(found: re.Match[str]) -> str:
        one = held[int(found[1])]
        if isinstance(one, Param) and stack.parameter(one.name).number:
            return _substituted(stack, one)
        parts = one.parts if isinstance(one, Joined) else (one,)
        inner = (json.dumps(part)[1:-1] if isinstance(part, str) else part for part in parts)
        texts = (_substituted(stack, part) for part in inner)
        return f'"{"".join(texts)}"'

    plain = json.loads(json.dumps(value.value, default=hold))
    text = "\n".join(_lines("", plain, "")).replace("${", "${!")
    return re.sub(r'"\\u0000(\d+)\\u0000"', written, text)


def _lines(head: str, value: Any, pad: str) -> list[str]:
    """JSON with as much on a line as is easily read, which also keeps templates below what can be sent."""
    short = f"{pad}{head}{json.dumps(value)}"
    if len(short) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return [short]
    named = (
        [(f"{json.dumps(name)}: ", one) for name, one in value.items()]
        if isinstance(value, dict)
        else [("", one) for one in value]
    )
    inner = [_lines(name, one, pad + "  ") for name, one in named]
    for lines in inner[:-1]:
        lines[-1] += ","
    opened, closed = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return [f"{pad}{head}{opened}", *(line for lines in inner for line in lines), f"{pad}{closed}"]


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
