"""Templates of CloudFormation, read as CloudFormation reads them: functions, conditions, parameters."""

import re
from typing import Any

import yaml
from export_cases import ACCOUNT, REGION, SAID


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Knows the short forms of CloudFormation's functions, and keeps every plain text as it stands."""


def _function(loader: _Loader, tag: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    else:
        assert isinstance(node, yaml.SequenceNode)
        value = loader.construct_sequence(node, deep=True)
    if tag == "GetAtt":
        value = str(value).split(".")
    return {tag if tag == "Ref" else f"Fn::{tag}": value}


_Loader.add_multi_constructor("!", _function)


def parsed(template: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(template, _Loader)
    return found


def resources(template: dict[str, Any], **said: str) -> dict[str, dict[str, Any]]:
    """What a template makes, with all that is known only then filled in; by its names."""
    return _Reading(template, said).resources()


_PSEUDO = {
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::Partition": "aws",
}


class _Reading:
    def __init__(self, template: dict[str, Any], said: dict[str, str]) -> None:
        self.template = template
        self.values = {
            name: said.get(name, one.get("Default", SAID.get(name))) for name, one in self._parameters()
        }

    def _parameters(self) -> list[tuple[str, dict[str, Any]]]:
        return list(self.template.get("Parameters", {}).items())

    def resources(self) -> dict[str, dict[str, Any]]:
        return {
            key: {**one, "Properties": self.value(one.get("Properties", {}))}
            for key, one in self.template["Resources"].items()
            if "Condition" not in one or self.value(self.template["Conditions"][one["Condition"]])
        }

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, inner),) = value.items()
            if name == "Ref" or name.startswith("Fn::"):
                return getattr(self, f"_{name.removeprefix('Fn::').lower()}")(inner)
        return {name: self.value(one) for name, one in value.items()}

    def _ref(self, name: str) -> Any:
        if name in _PSEUDO:
            return _PSEUDO[name]
        return self.values[name] if name in self.values else self._known(name, "Ref")

    def _getatt(self, path: list[str]) -> str:
        return self._known(*path)

    def _known(self, key: str, attribute: str) -> str:
        """By what AWS will know it, as far as that can be foretold."""
        resource = self.template["Resources"][key]
        has = resource["Properties"]
        function = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:"
        match resource["Type"], attribute:
            case "AWS::Logs::LogGroup", "Arn":
                return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{has['LogGroupName']}:*"
            case "AWS::IAM::Role", _:
                name = self.value(has["RoleName"])
                return str(name) if attribute == "Ref" else f"arn:aws:iam::{ACCOUNT}:role/{name}"
            case "AWS::Lambda::Function", "Ref":
                return str(has["FunctionName"])
            case "AWS::Lambda::Version", "Version":
                return "the version"
            case "AWS::Lambda::Alias", "Ref":
                return f"{function}{self.value(has['FunctionName'])}:{has['Name']}"
            case "AWS::ApplicationAutoScaling::ScalableTarget", "Ref":
                return "the target"
        raise AssertionError(f"{key} is not known by its {attribute}")

    def _sub(self, template: str) -> str:
        filled = re.sub(r"\$\{([A-Za-z0-9:]+)\}", lambda found: str(self._ref(found[1])), template)
        return filled.replace("${!", "${")

    def _join(self, parts: list[Any]) -> str:
        return str(parts[0]).join(str(one) for one in self.value(parts[1]))

    def _select(self, parts: list[Any]) -> Any:
        return self.value(parts[1])[parts[0]]

    def _split(self, parts: list[Any]) -> list[str]:
        return str(self.value(parts[1])).split(parts[0])

    def _equals(self, parts: list[Any]) -> bool:
        return bool(self.value(parts[0]) == self.value(parts[1]))

    def _not(self, parts: list[Any]) -> bool:
        return not self.value(parts[0])

    def _if(self, parts: list[Any]) -> Any:
        return self.value(parts[1] if self.value(self.template["Conditions"][parts[0]]) else parts[2])
