"""Values of the stack as Python with aws-cdk-lib."""

from typing import Any

from coldpress.export.python import Call, Raw, escaped, expression, quote_for, text
from coldpress.export.stack import Account, If, Joined, Json, Of, Param, Partition, Region, Resource, Stack, snake

#: where a service's resources are, and how that is called here
_MODULES = {
    "ApplicationAutoScaling": ("aws_applicationautoscaling", "scaling"),
    "CloudWatch": ("aws_cloudwatch", "cloudwatch"),
    "ECR": ("aws_ecr", "ecr"),
    "IAM": ("aws_iam", "iam"),
    "Lambda": ("aws_lambda", "lambda_"),
    "Logs": ("aws_logs", "logs"),
    "StepFunctions": ("aws_stepfunctions", "stepfunctions"),
}
#: whose content is a document of somebody else's, and no property
_DOCUMENTS = ("AssumeRolePolicyDocument", "PolicyDocument")
#: whose class is not named for the property
_CLASSES = {
    ("cloudwatch.CfnAlarm", "Metrics"): "MetricDataQuery",
    ("stepfunctions.CfnStateMachine", "Tags"): "TagsEntry",
}
#: what CDK calls otherwise than CloudFormation
_ATTRIBUTES = {
    ("AWS::IAM::Role", "Name"): "ref",
    ("AWS::Lambda::Function", "Name"): "function_name",
    ("AWS::Lambda::Function", "Arn"): "function_arn",
    ("AWS::Lambda::Alias", "Arn"): "function_arn",
    ("AWS::ApplicationAutoScaling::ScalableTarget", "Id"): "ref",
}


def imports(stack: Stack) -> list[str]:
    services = {one.type.split("::")[1] for one in stack.resources} | {"IAM"} | (set() if stack.zip else {"ECR"})
    found = (_MODULES[one] for one in services)
    return sorted(f"from aws_cdk import {module} as {name}" for module, name in found)


def class_of(resource: Resource) -> str:
    """What CDK has for it, as CloudFormation describes it."""
    _, service, kind = resource.type.split("::")
    return f"{_MODULES[service][1]}.Cfn{kind}"


def test(stack: Stack, name: str) -> str:
    asked = stack.condition(name)
    return f"settings[{text(snake(asked.parameter))}] {'==' if asked.equal else '!='} {text(asked.value)}"


def value_in(stack: Stack, value: Any) -> Any:
    """With what is known only when somebody deploys as expressions."""
    made = value
    match value:
        case dict():
            made = {name: value_in(stack, one) for name, one in value.items()}
        case list():
            made = [value_in(stack, one) for one in value]
        case Param():
            said = snake(value.name)
            secret = stack.parameter(value.name).secret
            made = Raw(f"{said}.value_as_string" if secret else f"settings[{text(said)}]")
        case Of():
            kind = stack.resource(value.resource).type
            attribute = _ATTRIBUTES.get((kind, value.attribute), f"attr_{snake(value.attribute)}")
            made = Raw(f"{snake(value.resource)}.{attribute}")
        case Region():
            made = Raw("self.region")
        case Account():
            made = Raw("self.account")
        case Partition():
            made = Raw("self.partition")
        case Json():
            made = Call("self.to_json_string", (value_in(stack, value.value),))
        case Joined():
            quote = quote_for("".join(one for one in value.parts if isinstance(one, str)))
            made = Raw(f"f{quote}{''.join(_part(stack, one, quote) for one in value.parts)}{quote}")
        case If():
            made = Raw(f"{text(value.yes)} if {test(stack, value.condition)} else {text(value.no)}")
    return made


def _part(stack: Stack, value: Any, quote: str) -> str:
    """Of a text with values in it. Before Python 3.12 an expression there must not have the text's own quotes."""
    if isinstance(value, str):
        return escaped(value, quote).replace("{", "{{").replace("}", "}}")
    other = "'" if quote == '"' else '"'
    return f"{{{expression(value_in(stack, value)).replace(quote, other)}}}"


def properties(stack: Stack, resource: Resource) -> tuple[tuple[str, Any], ...]:
    """As arguments of its class."""
    owner = class_of(resource)
    return tuple((snake(name), _property(stack, owner, name, one)) for name, one in resource.properties.items())


def _property(stack: Stack, owner: str, name: str, value: Any) -> Any:
    """What has properties of its own is a class inside its owner, named for one of them: Policies of
    PolicyProperty."""
    if name in _DOCUMENTS:
        return value_in(stack, value)
    if isinstance(value, list):
        one_of = name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")
        one_of = _CLASSES.get((owner, name), one_of)
        return [_property(stack, owner, one_of, one) for one in value]
    if isinstance(value, dict):
        kind = "cdk.CfnTag" if name == "Tag" else f"{owner}.{name}Property"
        return Call(
            kind, names=tuple((snake(key), _property(stack, owner, key, one)) for key, one in value.items())
        )
    return value_in(stack, value)
