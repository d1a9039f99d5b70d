"""The README beside the files: the commands to run, the parameters, and how to make a token."""

from collections.abc import Callable
from dataclasses import dataclass, field

from coldpress.artifact import ZIP
from coldpress.deploy.parts.image import repository_name
from coldpress.export.stack import Parameter, Stack, snake
from coldpress.export.terraform import is_direct

README = "README.md"
_MAKE = "t = secrets.token_urlsafe(32); print(t, hashlib.sha256(t.encode()).hexdigest())"
_GUARD = f"""## The token

This prints a new token, and then its SHA-256:

```sh
python3 -c 'import hashlib, secrets; {_MAKE}'
```

Keep the first for those who call the function (`Authorization: Bearer …`), and deploy with the second as `NAME`:
the token itself is asked for nowhere. A new one is deployed the same way.

Before you deploy an export with another `--url`, close this one: `MODE` = `none`. Otherwise a version that asks
for no token would stand behind an open URL, if only for seconds.

"""


@dataclass(frozen=True)
class _Told:
    tool: str
    commands: list[str]
    #: what there is to know about them
    notes: str
    #: how a parameter is called there
    named: Callable[[str], str]
    #: what the tool sends by itself
    sends_code: bool = False
    defaults: dict[str, str] = field(default_factory=dict)


def readme(kind: str, stack: Stack) -> str:
    told = _KINDS[kind](stack)
    secret = _secret(stack)
    parameters = [one for one in stack.parameters if not (told.sends_code and one.name.startswith("Code"))]
    guard = (
        _GUARD.replace("NAME", told.named(secret.name)).replace("MODE", told.named("UrlMode")) if secret else ""
    )
    return (
        f"# {stack.name}\n\nWhat `coldpress deploy` would make, for {told.tool}.\n\n```sh\n"
        + "".join(f"{line}\n" for line in told.commands)
        + f"```\n\n{told.notes}\n\n{guard}## Parameters\n\n| name | default | |\n|---|---|---|\n"
        + "".join(_row(told, one) for one in parameters)
        + "".join(f"\n## {heading}\n\n{text}\n" for heading, text in stack.notes)
    )


def _secret(stack: Stack) -> Parameter | None:
    return next((one for one in stack.parameters if one.secret), None)


def _row(told: _Told, said: Parameter) -> str:
    plain = "has to be said" if said.default is None else f"`{said.default}`"
    return f"| `{told.named(said.name)}` | {told.defaults.get(said.name, plain)} | {said.says}{_limits(said)} |\n"


def _limits(said: Parameter) -> str:
    if said.allowed:
        return f" One of: {', '.join(map(str, said.allowed))}."
    if said.least is None:
        return ""
    return f" At least {said.least}." if said.most is None else f" From {said.least} to {said.most}."


def _first(stack: Stack) -> list[str]:
    """An image has to be in a registry of the account."""
    if stack.zip:
        return []
    repository = repository_name(stack.name)
    return [
        f"aws ecr create-repository --repository-name {repository}  # once",
        f'IMAGE=$(coldpress push DIR "123456789012.dkr.ecr.eu-west-1.amazonaws.com/{repository}:1")',
    ]


def _said(stack: Stack) -> dict[str, str]:
    """What has to be said, as a shell writes it."""
    return {
        **({} if stack.zip else {"ImageUri": '"$IMAGE"'}),
        **({"TokenSha256": '"$TOKEN_SHA256"'} if _secret(stack) else {}),
    }


def _overrides(said: dict[str, str]) -> str:
    return f" --parameter-overrides {' '.join(f'{name}={value}' for name, value in said.items())}" if said else ""


def _upload(stack: Stack) -> list[str]:
    return [f"KEY={stack.parameter('CodeKey').default}", f'aws s3 cp {ZIP} "s3://$BUCKET/$KEY"']


def _cloudformation(stack: Stack) -> _Told:
    code = {"CodeBucket": '"$BUCKET"', "CodeKey": '"$KEY"'} if stack.zip else {}
    name = stack.stack_name
    commands = [
        *(_upload(stack) if stack.zip else _first(stack)),
        f"aws cloudformation deploy --template-file template.yaml --stack-name {name} \\",
        f"  --capabilities CAPABILITY_NAMED_IAM{_overrides(code | _said(stack))}",
        f"aws cloudformation describe-stacks --stack-name {name} --query 'Stacks[0].Outputs'",
    ]
    bucket = "`BUCKET` is any of yours in the same region. " if stack.zip else ""
    notes = f"""{bucket}A parameter that is not said keeps the value that the stack has. A change of the code or of
a setting publishes a new version; older ones stay. `aws cloudformation delete-stack --stack-name {name}` takes all
of it away."""
    return _Told("CloudFormation", commands, notes, lambda name: name)


def _sam(stack: Stack) -> _Told:
    images = "" if stack.zip else ' --image-repository "${IMAGE%@*}"'
    commands = [
        *_first(stack),
        "sam validate --lint",
        f"sam deploy{images}{_overrides(_said(stack))}",
        f"sam list stack-outputs --stack-name {stack.stack_name}",
    ]
    notes = f"""There is nothing to build. Parameters go by `--parameter-overrides Name=value`; the rest stands in
`samconfig.toml`. `sam delete --stack-name {stack.stack_name}` takes all of it away."""
    return _Told("SAM", commands, notes, lambda name: name, sends_code=True)


def _terraform(stack: Stack) -> _Told:
    large = stack.zip is not None and not is_direct(stack)
    said = ({"CodeBucket": '"$BUCKET"'} if large else {}) | _said(stack)
    flags = "".join(f" -var {snake(name)}={value}" for name, value in said.items())
    commands = [
        *(_upload(stack) if large else _first(stack)),
        "terraform init",
        f"terraform apply{flags}",
        "terraform output",
    ]
    notes = """Region and account are those of your credentials (`AWS_REGION`, `AWS_PROFILE`). The folder can also
be a module of a larger configuration. `terraform destroy` takes all of it away."""
    defaults = {} if large else {"CodeBucket": "`null`: the file is sent to Lambda as it is"}
    return _Told("Terraform", commands, notes, snake, defaults=defaults)


def _cdk(stack: Stack) -> _Told:
    image = "" if stack.zip else ' -c image_uri="$IMAGE"'
    secret = ' --parameters TokenSha256="$TOKEN_SHA256"' if _secret(stack) else ""
    commands = [
        *_first(stack),
        "pip install -r requirements.txt",
        f"npx aws-cdk@2 bootstrap{image}  # once for an account and region",
        f"npx aws-cdk@2 deploy{image}{secret}",
    ]
    notes = """Parameters go by `-c name=value`, or stand at the top of `app.py`. `npx aws-cdk@2 destroy` takes all
of it away."""
    return _Told(
        "CDK", commands, notes, lambda name: name if name == "TokenSha256" else snake(name), sends_code=True
    )


_KINDS: dict[str, Callable[[Stack], _Told]] = {
    "cloudformation": _cloudformation,
    "sam": _sam,
    "terraform": _terraform,
    "cdk-python": _cdk,
}
