"""Terraform: the stack as a root module, or as a module of a larger one."""

import unicodedata
from typing import Any

from coldpress.deploy.parts.code import DIRECT
from coldpress.errors import UsageError
from coldpress.export.hcl import Block, Raw, document
from coldpress.export.stack import Output, Parameter, Partition, Region, Stack, leaves, snake
from coldpress.export.terraform_resources import blocks
from coldpress.export.terraform_values import value_in

#: the provider that this was tried with, and the first one that can say «by the URL and no other way»
_PROVIDER, _PROVIDER_FOR_OPEN = ">= 5.100", ">= 6.28"
_TERRAFORM = ">= 1.5"
#: what the provider tells of where it is
_ABOUT: dict[type, str] = {Region: "aws_region", Partition: "aws_partition"}


def files(stack: Stack) -> dict[str, str]:
    _check(stack)
    heading = f"{stack.name}, as `coldpress export terraform` wrote it; README.md says how to deploy it."
    resources = [block for one in stack.resources for block in blocks(stack, one)]
    asked = {type(one) for resource in stack.resources for one in leaves(resource.properties)}
    known = [Block("data", (name, "current")) for kind, name in _ABOUT.items() if kind in asked]
    return {
        "main.tf": document(known + resources, heading),
        "variables.tf": document([_variable(stack, one) for one in stack.parameters]),
        "outputs.tf": document([_output(stack, one) for one in stack.outputs]),
        "versions.tf": document([_versions(stack)]),
    }


def is_direct(stack: Stack) -> bool:
    """Whether the code may go to Lambda with the call."""
    return stack.zip is not None and stack.zip.stat().st_size <= DIRECT


def _check(stack: Stack) -> None:
    for resource in stack.resources:
        for one in leaves(resource.properties):
            if isinstance(one, str) and not unicodedata.is_normalized("NFC", one):
                raise UsageError(
                    f"Terraform writes every text in Unicode's composed form (NFC), and {one!r} is not in it: "
                    f"write it so, or export another kind"
                )


def _versions(stack: Stack) -> Block:
    provider = _PROVIDER_FOR_OPEN if stack.of_type("AWS::Lambda::Permission") else _PROVIDER
    needed = Block("required_providers", body={"aws": {"source": "hashicorp/aws", "version": provider}})
    return Block("terraform", body={"required_version": _TERRAFORM, "required_providers": [needed]})


def _variable(stack: Stack, said: Parameter) -> Block:
    name = snake(said.name)
    body: dict[str, Any] = {
        "description": said.says,
        "type": Raw("number" if said.number else "string"),
    }
    if said.default is not None:
        body["default"] = said.default
    if said.name == "CodeBucket" and is_direct(stack):
        body["description"] = f"{said.says} Null: the file is sent to Lambda as it is."
        body["default"] = Raw("null")
    if said.secret:
        body["sensitive"] = True
    tests = _tests(f"var.{name}", said)
    if tests:
        rule = {"condition": Raw(" && ".join(tests)), "error_message": _words(name, said)}
        body["validation"] = [Block("validation", body=rule)]
    return Block("variable", (name,), body)


def _tests(variable: str, said: Parameter) -> list[str]:
    found = []
    if said.allowed:
        listed = ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in said.allowed)
        found.append(f"contains([{listed}], {variable})")
    if said.least is not None:
        found.append(f"{variable} >= {said.least}")
    if said.most is not None:
        found.append(f"{variable} <= {said.most}")
    if said.pattern:
        found.append(f'can(regex("{said.pattern}", {variable}))')
    return found


def _words(name: str, said: Parameter) -> str:
    if said.allowed:
        return f"{name} is one of: {', '.join(map(str, said.allowed))}."
    if said.pattern:
        return f"{name} is of the form {said.pattern}."
    most = "" if said.most is None else f" and at most {said.most}"
    return f"{name} is at least {said.least}{most}."


def _output(stack: Stack, said: Output) -> Block:
    return Block("output", (snake(said.key),), {"description": said.says, "value": value_in(stack, said.value)})
