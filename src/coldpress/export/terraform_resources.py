"""What each resource becomes in Terraform's provider for AWS: one writer for each type."""

from collections.abc import Callable
from typing import Any

from coldpress.artifact import ZIP
from coldpress.export.hcl import Block, Encoded, Raw
from coldpress.export.stack import Resource, Stack, snake, untagged
from coldpress.export.terraform_values import KINDS, address, test, value_in

_SCALED = ("service_namespace", "scalable_dimension", "resource_id")


def blocks(stack: Stack, resource: Resource) -> list[Block]:
    """All that a resource becomes."""
    made: list[Block] = []
    counted = {"count": Raw(f"{test(stack, resource.condition)} ? 1 : 0")} if resource.condition else {}
    for kind, label, body in _WRITERS[resource.type](stack, resource):
        whole = value_in(stack, {**counted, **body})
        made.append(Block("resource", (kind, label), whole, "" if made else resource.says))
    return made


#: what the provider calls it, its name in the module, its body
_Made = tuple[str, str, dict[str, Any]]


def _named(resource: Resource, body: dict[str, Any]) -> _Made:
    return KINDS[resource.type], snake(resource.key), body


def _inner(kind: str, body: dict[str, Any]) -> dict[str, list[Block]]:
    return {kind: [Block(kind, body=body)]}


def _tags(resource: Resource) -> dict[str, Any]:
    return {"tags": untagged(resource.properties["Tags"])} if "Tags" in resource.properties else {}


def _after(stack: Stack, resource: Resource) -> list[Raw]:
    return [Raw(address(stack, key)) for key in resource.after]


def _left_alone(*names: str) -> dict[str, list[Block]]:
    return _inner("lifecycle", {"ignore_changes": [Raw(name) for name in names]})


def _log(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    body = {"name": has["LogGroupName"], "retention_in_days": has["RetentionInDays"], **_tags(resource)}
    return [_named(resource, body)]


def _role(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    body = {
        "name": has["RoleName"],
        "description": has["Description"],
        "assume_role_policy": Encoded(has["AssumeRolePolicyDocument"]),
        **_tags(resource),
    }
    (policy,) = has["Policies"]
    allowed = {
        "name": policy["PolicyName"],
        "role": Raw(f"{address(stack, resource.key)}.name"),
        "policy": Encoded(policy["PolicyDocument"]),
    }
    return [_named(resource, body), ("aws_iam_role_policy", snake(resource.key), allowed)]


def _role_policy(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    role = Raw(f"{address(stack, has['RoleName'].resource)}.name")
    body = {"name": has["PolicyName"], "role": role, "policy": Encoded(has["PolicyDocument"])}
    return [_named(resource, body)]


def _machine(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    body = {
        "name": has["StateMachineName"],
        "type": has["StateMachineType"],
        "role_arn": has["RoleArn"],
        "definition": has["DefinitionString"],
        **_tags(resource),
        "depends_on": _after(stack, resource),
    }
    return [_named(resource, body)]


def _function(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    policies = [Raw(f"aws_iam_role_policy.{snake(one.key)}") for one in stack.of_type("AWS::IAM::Role")]
    snapped = has["SnapStart"]["ApplyOn"] != "None"
    body = {
        "function_name": has["FunctionName"],
        "description": has["Description"],
        **_code(stack, resource),
        "publish": True,
        "role": has["Role"],
        "runtime": has.get("Runtime"),
        "handler": has.get("Handler"),
        "architectures": has["Architectures"],
        "memory_size": has["MemorySize"],
        "timeout": has["Timeout"],
        "reserved_concurrent_executions": has.get("ReservedConcurrentExecutions"),
        **_tags(resource),
        "depends_on": _after(stack, resource) + policies,
        **(_inner("environment", {"variables": has["Environment"]["Variables"]}) if "Environment" in has else {}),
        **_inner("ephemeral_storage", {"size": has["EphemeralStorage"]["Size"]}),
        **(_inner("snap_start", {"apply_on": has["SnapStart"]["ApplyOn"]}) if snapped else {}),
        **_inner("logging_config", {"log_format": has["LoggingConfig"]["LogFormat"]}),
    }
    return [_named(resource, body)]


def _code(stack: Stack, resource: Resource) -> dict[str, Any]:
    has = resource.properties
    if not stack.zip:
        return {"package_type": has["PackageType"], "image_uri": has["Code"]["ImageUri"]}
    here = f'"${{path.module}}/{ZIP}"'
    return {
        "filename": Raw(f"var.code_bucket == null ? {here} : null"),
        "s3_bucket": has["Code"]["S3Bucket"],
        "s3_key": Raw("var.code_bucket == null ? null : var.code_key"),
        "source_code_hash": Raw(f"filebase64sha256({here})"),
    }


def _version(stack: Stack, resource: Resource) -> list[_Made]:
    """The function publishes them itself."""
    return []


def _alias(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    names = {"name": has["Name"], "function_name": has["FunctionName"], "function_version": has["FunctionVersion"]}
    if "ProvisionedConcurrencyConfig" not in has:
        return [_named(resource, names)]
    ready = {
        **_on_alias(stack),
        "provisioned_concurrent_executions": has["ProvisionedConcurrencyConfig"][
            "ProvisionedConcurrentExecutions"
        ],
    }
    if stack.of_type("AWS::ApplicationAutoScaling::ScalableTarget"):  # use and the clock move it
        ready |= _left_alone("provisioned_concurrent_executions")
    kind = "aws_lambda_provisioned_concurrency_config"
    return [_named(resource, names), (kind, snake(resource.key), ready)]


def _on_alias(stack: Stack) -> dict[str, Any]:
    (alias,) = stack.of_type("AWS::Lambda::Alias")
    here = address(stack, alias.key)
    return {"function_name": Raw(f"{here}.function_name"), "qualifier": Raw(f"{here}.name")}


def _url(stack: Stack, resource: Resource) -> list[_Made]:
    return [_named(resource, {**_on_alias(stack), "authorization_type": resource.properties["AuthType"]})]


def _permission(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    body = {
        "statement_id": resource.name,
        **_on_alias(stack),
        "principal": has["Principal"],
        "action": has["Action"],
        "function_url_auth_type": has.get("FunctionUrlAuthType"),
        "invoked_via_function_url": has.get("InvokedViaFunctionUrl"),
    }
    return [_named(resource, body)]


def _target(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    actions = has.get("ScheduledActions", [])
    body = {
        "service_namespace": has["ServiceNamespace"],
        "scalable_dimension": has["ScalableDimension"],
        "resource_id": has["ResourceId"],
        "min_capacity": has["MinCapacity"],
        "max_capacity": has["MaxCapacity"],
        "depends_on": _after(stack, resource),
        **(_left_alone("min_capacity", "max_capacity") if actions else {}),  # the clock moves them
    }
    timed = [
        (
            "aws_appautoscaling_scheduled_action",
            f"{snake(resource.key)}_{number}",
            {
                "name": one["ScheduledActionName"],
                **_scaled(stack, resource.key),
                "schedule": one["Schedule"],
                "timezone": one["Timezone"],
                **_inner("scalable_target_action", {snake(k): v for k, v in one["ScalableTargetAction"].items()}),
            },
        )
        for number, one in enumerate(actions, 1)
    ]
    return [_named(resource, body), *timed]


def _scaled(stack: Stack, key: str) -> dict[str, Any]:
    return {name: Raw(f"{address(stack, key)}.{name}") for name in _SCALED}


def _policy(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    tracked = has["TargetTrackingScalingPolicyConfiguration"]
    metric = tracked["PredefinedMetricSpecification"]["PredefinedMetricType"]
    body = {
        "name": has["PolicyName"],
        "policy_type": has["PolicyType"],
        **_scaled(stack, has["ScalingTargetId"].resource),
        **_inner(
            "target_tracking_scaling_policy_configuration",
            {
                "target_value": tracked["TargetValue"],
                **_inner("predefined_metric_specification", {"predefined_metric_type": metric}),
            },
        ),
    }
    return [_named(resource, body)]


def _mapping(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    body = {
        "event_source_arn": has["EventSourceArn"],
        "function_name": has["FunctionName"],
        "batch_size": has["BatchSize"],
        "maximum_batching_window_in_seconds": has.get("MaximumBatchingWindowInSeconds"),
        "function_response_types": has["FunctionResponseTypes"],
        **_tags(resource),
    }
    return [_named(resource, body)]


def _dashboard(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    return [_named(resource, {"dashboard_name": has["DashboardName"], "dashboard_body": has["DashboardBody"]})]


def _alarm(stack: Stack, resource: Resource) -> list[_Made]:
    has = resource.properties
    body = {snake(name): value for name, value in has.items() if name not in ("Metrics", "Tags")}
    queries = {"metric_query": [_query(one) for one in has["Metrics"]]}
    return [_named(resource, {**body, **_tags(resource), **queries})]


def _query(has: dict[str, Any]) -> Block:
    body = {"id": has["Id"], "expression": has.get("Expression"), "label": has.get("Label")}
    if "MetricStat" in has:
        metric, asked = has["MetricStat"]["Metric"], has["MetricStat"]
        dimensions = {one["Name"]: one["Value"] for one in metric["Dimensions"]}
        what = {"namespace": metric["Namespace"], "metric_name": metric["MetricName"], "dimensions": dimensions}
        body |= _inner("metric", {**what, "period": asked["Period"], "stat": asked["Stat"]})
    return Block("metric_query", body={**body, "return_data": has["ReturnData"]})


_WRITERS: dict[str, Callable[[Stack, Resource], list[_Made]]] = {
    "AWS::Logs::LogGroup": _log,
    "AWS::IAM::Role": _role,
    "AWS::IAM::RolePolicy": _role_policy,
    "AWS::StepFunctions::StateMachine": _machine,
    "AWS::Lambda::Function": _function,
    "AWS::Lambda::Version": _version,
    "AWS::Lambda::Alias": _alias,
    "AWS::Lambda::Url": _url,
    "AWS::Lambda::Permission": _permission,
    "AWS::Lambda::EventSourceMapping": _mapping,
    "AWS::CloudWatch::Dashboard": _dashboard,
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::ApplicationAutoScaling::ScalableTarget": _target,
    "AWS::ApplicationAutoScaling::ScalingPolicy": _policy,
}
