"""Values of the stack as expressions of Terraform."""

from typing import Any

from coldpress.export.hcl import Block, Encoded, Raw, template
from coldpress.export.stack import Account, If, Joined, Json, Of, Param, Partition, Region, Stack, snake

KINDS = {
    "AWS::Logs::LogGroup": "aws_cloudwatch_log_group",
    "AWS::IAM::Role": "aws_iam_role",
    "AWS::IAM::RolePolicy": "aws_iam_role_policy",
    "AWS::StepFunctions::StateMachine": "aws_sfn_state_machine",
    "AWS::Lambda::Function": "aws_lambda_function",
    "AWS::Lambda::Alias": "aws_lambda_alias",
    "AWS::Lambda::Url": "aws_lambda_function_url",
    "AWS::Lambda::Permission": "aws_lambda_permission",
    "AWS::Lambda::EventSourceMapping": "aws_lambda_event_source_mapping",
    "AWS::CloudWatch::Dashboard": "aws_cloudwatch_dashboard",
    "AWS::CloudWatch::Alarm": "aws_cloudwatch_metric_alarm",
    "AWS::ApplicationAutoScaling::ScalableTarget": "aws_appautoscaling_target",
    "AWS::ApplicationAutoScaling::ScalingPolicy": "aws_appautoscaling_policy",
}
_ATTRIBUTES = {"Name": "function_name", "FunctionUrl": "function_url"}


def address(stack: Stack, key: str) -> str:
    return f"{KINDS[stack.resource(key).type]}.{snake(key)}"


def test(stack: Stack, name: str) -> str:
    asked = stack.condition(name)
    return f'var.{snake(asked.parameter)} {"==" if asked.equal else "!="} "{asked.value}"'


def value_in(stack: Stack, value: Any) -> Any:
    """With what is known only when somebody deploys as expressions; what is None is left out."""
    made = value
    match value:
        case dict():
            made = {name: value_in(stack, one) for name, one in value.items() if one is not None}
        case list():
            made = [value_in(stack, one) for one in value]
        case Block():
            made = Block(value.kind, value.labels, value_in(stack, value.body), value.note)
        case Encoded():
            made = Encoded(value_in(stack, value.value))
        case Param():
            made = Raw(f"var.{snake(value.name)}")
        case Of():
            made = _known(stack, value)
        case Region():
            made = Raw("data.aws_region.current.id")
        case Account():
            (log,) = stack.of_type("AWS::Logs::LogGroup")  # whose ARN has it, without asking AWS for more
            made = Raw(f'split(":", {address(stack, log.key)}.arn)[4]')
        case Partition():
            made = Raw("data.aws_partition.current.partition")
        case Json():
            made = Encoded(value_in(stack, value.value))
        case Joined():
            made = template(tuple(value_in(stack, one) for one in value.parts))
        case If():
            made = Raw(f'{test(stack, value.condition)} ? "{value.yes}" : "{value.no}"')
    return made


def _known(stack: Stack, value: Of) -> Raw:
    resource = stack.resource(value.resource)
    if resource.type == "AWS::Lambda::Version":  # a function that is published knows its own
        (function,) = stack.of_type("AWS::Lambda::Function")
        return Raw(f"{address(stack, function.key)}.version")
    here = address(stack, value.resource)
    if resource.type == "AWS::Logs::LogGroup":  # as policies name it: with all of its streams
        return Raw(f'"${{{here}.arn}}:*"')
    attribute = _ATTRIBUTES.get(value.attribute, value.attribute.lower())
    return Raw(f"one({here}[*].{attribute})" if resource.condition else f"{here}.{attribute}")
