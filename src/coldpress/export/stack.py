"""What is to be made, said once for every tool.

Resources are named as CloudFormation names them, since that is the vocabulary of AWS itself. Their values are
plain ones, and those that are known only when somebody deploys: parameters, and what other resources are known by.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Param:
    """What a person says when deploying."""

    name: str


@dataclass(frozen=True)
class Of:
    """What another resource is known by: its Arn, its Name, …"""

    resource: str
    attribute: str = "Arn"


@dataclass(frozen=True)
class Region:
    """Where it is deployed."""


@dataclass(frozen=True)
class Account:
    """Whose it is: twelve digits."""


@dataclass(frozen=True)
class Partition:
    """Which AWS that is: aws, but in China and for governments."""


@dataclass(frozen=True)
class Json:
    """A document of somebody else's, which goes as a text; values that are known only then may be in it."""

    value: Any


@dataclass(frozen=True)
class Digest:
    """What follows `@sha256:` in the name of an image."""

    image: Param


@dataclass(frozen=True)
class Joined:
    """Texts and values, one after the other."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class If:
    condition: str
    yes: Any
    no: Any


@dataclass(frozen=True)
class Parameter:
    name: str
    says: str
    #: None: it has to be given
    default: str | int | float | None = None
    number: bool = False
    allowed: tuple[str | int, ...] = ()
    least: float | None = None
    most: float | None = None
    pattern: str | None = None
    secret: bool = False


@dataclass(frozen=True)
class Condition:
    """Whether a parameter has a value, or has another."""

    name: str
    parameter: str
    value: str
    equal: bool = True


@dataclass(frozen=True)
class Resource:
    key: str
    type: str
    properties: dict[str, Any]
    #: for whoever reads the template
    says: str
    #: made before this one, beside those that it refers to
    after: tuple[str, ...] = ()
    condition: str | None = None
    #: as AWS's own API would be told it, where CloudFormation makes one up
    name: str = ""
    #: stays when the stack no longer has it
    keep: bool = False


@dataclass(frozen=True)
class Output:
    key: str
    says: str
    value: Any
    condition: str | None = None


@dataclass(frozen=True)
class Part:
    resources: tuple[Resource, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    outputs: tuple[Output, ...] = ()
    #: for the README: what no template can do, or has to be known; by their headings
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Stack(Part):
    name: str = ""
    description: str = ""
    #: None: an image
    zip: Path | None = None

    @property
    def stack_name(self) -> str:
        """As CloudFormation takes it, which is stricter than Lambda."""
        name = re.sub("[^A-Za-z0-9-]", "-", self.name)
        return name if name[0].isalpha() else f"f-{name}"

    def resource(self, key: str) -> Resource:
        return next(one for one in self.resources if one.key == key)

    def of_type(self, kind: str) -> list[Resource]:
        return [one for one in self.resources if one.type == kind]

    def condition(self, name: str) -> Condition:
        return next(one for one in self.conditions if one.name == name)

    def parameter(self, name: str) -> Parameter:
        return next(one for one in self.parameters if one.name == name)


def snake(name: str) -> str:
    """MemorySize is memory_size, TokenSha256 is token_sha256, OKActions is ok_actions."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def leaves(value: Any) -> Iterator[Any]:
    """All that a value is made of, and the value."""
    yield value
    inner: Any = ()
    match value:
        case dict():
            inner = value.values()
        case list() | tuple():
            inner = value
        case Joined():
            inner = value.parts
        case If():
            inner = (value.yes, value.no)
        case Digest():
            inner = (value.image,)
        case Json():
            inner = (value.value,)
    for one in inner:
        yield from leaves(one)


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same, with every plain value as `change` has it."""
    match value:
        case dict():
            return {key: replaced(one, change) for key, one in value.items()}
        case list():
            return [replaced(one, change) for one in value]
    return change(value)


def tags(pairs: dict[str, str]) -> list[dict[str, str]]:
    """As CloudFormation writes them."""
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def untagged(listed: list[dict[str, str]]) -> dict[str, str]:
    """As all others do."""
    return {one["Key"]: one["Value"] for one in listed}


def present(properties: dict[str, Any]) -> dict[str, Any]:
    """Without what is not wanted."""
    return {name: value for name, value in properties.items() if value not in (None, [], {})}
