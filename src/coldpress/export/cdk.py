"""CDK for Python: an app with one stack. What may be said when deploying is the app's context."""

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from coldpress.artifact import ZIP
from coldpress.export.cdk_values import class_of, imports, properties, test, value_in
from coldpress.export.python import Call, Raw, call, lines, text
from coldpress.export.stack import Of, Output, Parameter, Resource, Stack, leaves, snake, untagged

APP = "app.py"
#: with all that is used here; CDK keeps what it has within a major version
_REQUIRED = "aws-cdk-lib>=2.275,<3\n"
#: CDK sends it, to a bucket of its own
_SENT = ("CodeBucket", "CodeKey")
_SELF = Raw("self")

_SETTING = '''
    def setting(self, name: str) -> Any:
        """What was said by `-c`, or is written above."""
        said, written = self.node.try_get_context(name), SETTINGS[name]
        value = written if said is None else type(written)(said)
        if value == "":
            raise ValueError(f"{name} has to be said: -c {name}=...")
        if value not in ALLOWED.get(name, [value]):
            raise ValueError(f"{name} is {value!r}; it can be: {ALLOWED[name]}")
        return value
'''


def files(stack: Stack) -> dict[str, str]:
    return {
        APP: "\n".join([*_head(stack), *_settings(stack), *_class(stack), *_foot(stack)]) + "\n",
        "cdk.json": json.dumps({"app": f"python3 {APP}"}, indent=2) + "\n",
        "requirements.txt": _REQUIRED,
    }


def _head(stack: Stack) -> Iterator[str]:
    yield f'"""{stack.name}, as `coldpress export cdk-python` wrote it; README.md says how to deploy it."""'
    yield ""
    if stack.zip:
        yield "from pathlib import Path"
    yield "from typing import Any"
    yield ""
    yield "import aws_cdk as cdk"
    yield from imports(stack)
    yield "from constructs import Construct"
    yield ""


def _settings(stack: Stack) -> Iterator[str]:
    """Of the kind of their defaults."""
    told = [one for one in stack.parameters if not one.secret and one.name not in _SENT]
    yield "#: each may be said anew, as by: cdk deploy -c memory_size=1024"
    yield "SETTINGS: dict[str, Any] = {"
    for one in told:
        yield f"    # {one.says}"
        yield f"    {text(snake(one.name))}: {_default(one)},"
    yield "}"
    yield "#: and these can be nothing else"
    limited = {snake(one.name): list(one.allowed) for one in told if one.allowed and not one.number}
    yield from lines("ALLOWED: dict[str, list[str]] = ", limited, 0)
    yield ""
    yield ""


def _default(said: Parameter) -> str:
    """Empty: it has to be said."""
    return text(str(said.default or "")) if not said.number else repr(said.default)


def _class(stack: Stack) -> Iterator[str]:
    yield "class FunctionStack(cdk.Stack):"
    yield "    def __init__(self, scope: Construct, name: str) -> None:"
    yield from lines("", call("super().__init__", Raw("scope"), Raw("name"), description=stack.description), 2)
    yield "        settings = {name: self.setting(name) for name in SETTINGS}"
    for said in stack.parameters:
        if said.secret:
            yield from _secret(said)
    made = [one for one in stack.resources if one.type != "AWS::Lambda::Version"]
    for condition, some in groupby(made, lambda one: one.condition):
        depth = 2
        yield ""
        if condition:
            yield f"        if {test(stack, condition)}:"
            depth = 3
        for number, one in enumerate(some):
            if number:
                yield ""
            yield f"{' ' * 4 * depth}# {one.says}"
            yield from _WRITERS.get(one.type, _described)(stack, one, depth)
    yield ""
    for output in stack.outputs:
        yield from _output(stack, output)
    yield from _SETTING.rstrip().splitlines()


def _secret(said: Parameter) -> Iterator[str]:
    made = call(
        "cdk.CfnParameter", _SELF, said.name, description=said.says, no_echo=True, allowed_pattern=said.pattern
    )
    yield from lines(f"{snake(said.name)} = ", made, 2)


def _described(stack: Stack, resource: Resource, depth: int) -> Iterator[str]:
    """As CloudFormation would have it."""
    made = Call(class_of(resource), (_SELF, resource.key), properties(stack, resource))
    yield from _kept(stack, resource, made, depth)


def _kept(stack: Stack, resource: Resource, made: Call, depth: int) -> Iterator[str]:
    """Under a name only where somebody asks for it."""
    values = [*(one.properties for one in stack.resources), *(one.value for one in stack.outputs)]
    asked = {one.resource for one in leaves(values) if isinstance(one, Of)}
    asked |= {key for one in stack.resources if one.after for key in (one.key, *one.after)}
    yield from lines(f"{snake(resource.key)} = " if resource.key in asked else "", made, depth)
    for key in resource.after:
        yield f"{' ' * 4 * depth}{snake(resource.key)}.node.add_dependency({snake(key)})"


def _function(stack: Stack, resource: Resource, depth: int) -> Iterator[str]:
    has = value_in(stack, resource.properties)
    arm = resource.properties["Architectures"] == ["arm64"]
    json_log = resource.properties["LoggingConfig"]["LogFormat"] == "JSON"
    snapped = resource.properties["SnapStart"]["ApplyOn"] != "None"
    if not stack.zip:
        yield from _image()
    made = call(
        "lambda_.Function",
        _SELF,
        resource.key,
        function_name=has["FunctionName"],
        description=has["Description"],
        **(_zip(has, snapped) if stack.zip else _from_image()),
        architecture=Raw(f"lambda_.Architecture.{'ARM_64' if arm else 'X86_64'}"),
        role=call("iam.Role.from_role_arn", _SELF, "FunctionRole", has["Role"], mutable=False),
        memory_size=has["MemorySize"],
        timeout=call("cdk.Duration.seconds", has["Timeout"]),
        environment=has.get("Environment", {}).get("Variables"),
        ephemeral_storage_size=call("cdk.Size.mebibytes", has["EphemeralStorage"]["Size"]),
        snap_start=Raw("lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS") if snapped else None,
        logging_format=Raw(f"lambda_.LoggingFormat.{'JSON' if json_log else 'TEXT'}"),
        reserved_concurrent_executions=has.get("ReservedConcurrentExecutions"),
        current_version_options=_versions(stack),
    )
    yield from _kept(stack, resource, made, depth)
    for key, value in untagged(resource.properties.get("Tags", [])).items():
        yield from lines("", call("cdk.Tags.of(function).add", key, value), depth)


def _zip(has: dict[str, Any], snapped: bool) -> dict[str, Any]:
    family = Raw("lambda_.RuntimeFamily.PYTHON")
    runtime = call("lambda_.Runtime", has["Runtime"], family, supports_snap_start=True if snapped else None)
    here = Raw(f'str(Path(__file__).with_name("{ZIP}"))')
    return {"code": call("lambda_.Code.from_asset", here), "runtime": runtime, "handler": has["Handler"]}


def _image() -> Iterator[str]:
    yield '        registry, _, image = settings["image_uri"].partition("/")'
    yield '        image_name, _, digest = image.partition("@")'
    yield '        account, _, _, region = registry.split(".")[:4]'
    images = call(
        "ecr.Repository.from_repository_attributes",
        _SELF,
        "Images",
        repository_name=Raw("image_name"),
        repository_arn=Raw('f"arn:{self.partition}:ecr:{region}:{account}:repository/{image_name}"'),
    )
    yield from lines("images = ", images, 2)


def _from_image() -> dict[str, Any]:
    code = call("lambda_.Code.from_ecr_image", Raw("images"), tag_or_digest=Raw("digest"))
    return {
        "code": code,
        "runtime": Raw("lambda_.Runtime.FROM_IMAGE"),
        "handler": Raw("lambda_.Handler.FROM_IMAGE"),
    }


def _versions(stack: Stack) -> Call:
    """CDK publishes one for whatever it sees change, and does not see what is said to CloudFormation."""
    (secret,) = [snake(one.name) for one in stack.parameters if one.secret] or [""]
    described = Raw(f'f"{secret} {{{secret}.value_as_string}}"') if secret else None
    return call("lambda_.VersionOptions", removal_policy=Raw("cdk.RemovalPolicy.RETAIN"), description=described)


def _alias(stack: Stack, resource: Resource, depth: int) -> Iterator[str]:
    has = value_in(stack, resource.properties)
    made = call(
        "lambda_.Alias",
        _SELF,
        resource.key,
        alias_name=has["Name"],
        version=Raw("function.current_version"),
        provisioned_concurrent_executions=has.get("ProvisionedConcurrencyConfig", {}).get(
            "ProvisionedConcurrentExecutions"
        ),
    )
    yield from _kept(stack, resource, made, depth)


def _output(stack: Stack, said: Output) -> Iterator[str]:
    depth = 2
    if said.condition:
        yield f"        if {test(stack, said.condition)}:"
        depth = 3
    made = call(
        "cdk.CfnOutput", _SELF, f"{said.key}Output", description=said.says, value=value_in(stack, said.value)
    )
    yield from lines("", made, depth)


def _foot(stack: Stack) -> Iterator[str]:
    yield ""
    yield ""
    yield "app = cdk.App()"
    yield f"FunctionStack(app, {text(stack.stack_name)})"
    yield "app.synth()"


_WRITERS: dict[str, Callable[[Stack, Resource, int], Iterator[str]]] = {
    "AWS::Lambda::Function": _function,
    "AWS::Lambda::Alias": _alias,
}
