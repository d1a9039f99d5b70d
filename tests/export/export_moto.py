"""What moto's CloudFormation has not, or has otherwise than AWS: aliases, URLs, two attributes. Stand-ins ask
moto's own Lambda for them."""

from typing import Any

from moto.awslambda.utils import get_backend


class _Made:
    """What moto asks of everything that it made."""

    physical_resource_id: str

    def is_created(self) -> bool:
        return True


class Alias(_Made):
    """AWS::Lambda::Alias; without what is kept ready, which moto's Lambda has not either."""

    def __init__(self, arn: str) -> None:
        self.physical_resource_id = arn

    @staticmethod
    def create_from_cloudformation_json(
        name: str, resource: dict[str, Any], account: str, region: str, **_: Any
    ) -> "Alias":
        has = resource["Properties"]
        backend = get_backend(account, region)
        return Alias(backend.create_alias(has["Name"], has["FunctionName"], has["FunctionVersion"], "", "").arn)


class Url(_Made):
    """AWS::Lambda::Url; of the function, since moto's Lambda has one for all of its aliases."""

    def __init__(self, arn: str, address: str) -> None:
        self.physical_resource_id = arn
        self.address = address

    @staticmethod
    def has_cfn_attr(attribute: str) -> bool:
        return attribute == "FunctionUrl"

    def get_cfn_attribute(self, attribute: str) -> str:
        return self.address

    @staticmethod
    def create_from_cloudformation_json(
        name: str, resource: dict[str, Any], account: str, region: str, **_: Any
    ) -> "Url":
        has = resource["Properties"]
        arn: str = has["TargetFunctionArn"]
        backend = get_backend(account, region)
        made = backend.create_function_url_config(arn.removesuffix(":live"), {"AuthType": has["AuthType"]})
        return Url(arn, made.url)


def every_stream(group: Any, attribute: str) -> str:
    """!GetAtt of an AWS::Logs::LogGroup: AWS's ends so, moto's does not."""
    assert attribute == "Arn"
    return f"{group.arn}:*"


STAND_INS = {"AWS::Lambda::Alias": Alias, "AWS::Lambda::Url": Url}


def number(version: Any, attribute: str) -> str:
    """!GetAtt of an AWS::Lambda::Version."""
    assert attribute == "Version"
    return str(version.version)
