"""Terraform itself, with its provider for AWS, where this machine has them; its plans, as export_made has them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from export_made import Made, door, function, mapping, schedule

from coldpress.deploy.wanted import Wanted
from coldpress.export.run import contents

#: where providers may lie for a machine without a network; Terraform looks at most of them by itself
_MIRRORS = (
    os.environ.get("TF_PLUGINS", ""),
    "/opt/tf-plugins",
    "/usr/share/terraform/plugins",
    "/usr/local/share/terraform/plugins",
    str(Path("~/.terraform.d/plugins").expanduser()),
)
_PROVIDER = "registry.terraform.io/hashicorp/aws"


def terraform() -> str:
    found = shutil.which("terraform")
    if found is None:
        pytest.skip("terraform is not on this machine: see developer.hashicorp.com/terraform/install")
    return found


def plugins() -> str:
    """The folder to take the provider from."""
    found = next((one for one in _MIRRORS if one and (Path(one) / _PROVIDER).is_dir()), None)
    if found is None:
        pytest.skip("the provider is not on this machine: terraform providers mirror FOLDER, TF_PLUGINS=FOLDER")
    return found


def run(folder: Path, *arguments: str) -> str:
    environment = os.environ | {
        "TF_CLI_CONFIG_FILE": os.devnull,
        "CHECKPOINT_DISABLE": "1",
        "TF_IN_AUTOMATION": "1",
    }
    done = subprocess.run(
        [terraform(), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_module(folder: Path, wish: Wanted) -> None:
    """As it is exported, but for what the provider that lies here is too old for."""
    folder.mkdir(parents=True)
    for name, content in contents("terraform", wish).items():
        if isinstance(content, Path):
            shutil.copyfile(content, folder / name)
        else:
            older = re.sub(r"\n +invoked_via_function_url += true", "", content).replace('">= 6.28"', '">= 5.100"')
            (folder / name).write_text(older, encoding="utf-8")


def write_root(folder: Path, endpoint: str, said: dict[str, dict[str, str]]) -> None:
    """A configuration of all modules; each by its folder's name, with what has to be said to it."""
    services = ("applicationautoscaling", "cloudwatch", "iam", "lambda", "logs", "s3", "sts")
    provider = {
        "region": "eu-west-1",
        "access_key": "key",
        "secret_key": "secret",
        "skip_credentials_validation": True,
        "skip_metadata_api_check": True,
        "skip_requesting_account_id": True,
        "endpoints": [dict.fromkeys(services, endpoint)],
    }
    modules = {name: {"source": f"./{name}", **values} for name, values in said.items()}
    root = {"provider": {"aws": provider}, "module": modules}
    (folder / "root.tf.json").write_text(json.dumps(root), encoding="utf-8")


def by_plan(resources: list[dict[str, Any]]) -> Made:
    """Of a module that is not there yet; what AWS makes up is not known then."""

    def all_of(kind: str) -> list[dict[str, Any]]:
        """Without what is for bulk jobs, which deploy does not make."""
        own = (one for one in resources if not one["name"].startswith("map"))
        return [one["values"] for one in own if one["type"] == f"aws_{kind}"]

    def first(kind: str) -> dict[str, Any]:
        return next(iter(all_of(kind)), {})

    def inner(has: dict[str, Any], name: str) -> dict[str, Any]:
        return next(iter(has.get(name) or []), {})

    log, role, has = first("cloudwatch_log_group"), first("iam_role"), first("lambda_function")
    target = first("appautoscaling_target")
    names = ("service_namespace", "resource_id", "scalable_dimension", "min_capacity", "max_capacity")
    return {
        "log": [log["name"], log["retention_in_days"], log["tags"]],
        "role": {
            "name": role["name"],
            "description": role["description"],
            "trust": json.loads(role["assume_role_policy"]),
            "policies": [one["name"] for one in all_of("iam_role_policy")],
            "tags": role["tags"] or {},
        }
        if role
        else None,
        "function": function(
            {
                "FunctionName": has["function_name"],
                "PackageType": has["package_type"],
                "Code": {"ImageUri": has["image_uri"]} if has["image_uri"] else {},
                "Role": has.get("role"),
                "Runtime": has["runtime"],
                "Handler": has["handler"],
                "Description": has["description"],
                "MemorySize": has["memory_size"],
                "Timeout": has["timeout"],
                "Architectures": has["architectures"],
                "Environment": {"Variables": inner(has, "environment").get("variables", {})},
                "EphemeralStorage": {"Size": inner(has, "ephemeral_storage")["size"]},
                "SnapStart": {"ApplyOn": inner(has, "snap_start").get("apply_on", "None")},
                "LoggingConfig": {"LogFormat": inner(has, "logging_config")["log_format"]},
                "Tags": has["tags"] or {},
            }
        ),
        "at_once": None if has["reserved_concurrent_executions"] == -1 else has["reserved_concurrent_executions"],
        "alias": [one["name"] for one in all_of("lambda_alias")],
        "ready": first("lambda_provisioned_concurrency_config").get("provisioned_concurrent_executions"),
        "url": [(one["qualifier"], one["authorization_type"]) for one in all_of("lambda_function_url")],
        "doors": sorted(
            door(
                {
                    "Action": one["action"],
                    "Principal": one["principal"],
                    "FunctionUrlAuthType": one["function_url_auth_type"],
                }
            )
            for one in all_of("lambda_permission")
        ),
        "target": {_camel(name): target[name] for name in names} if target else None,
        "policy": [
            [one["name"], one["policy_type"], _tracking(one["target_tracking_scaling_policy_configuration"][0])]
            for one in all_of("appautoscaling_policy")
        ],
        "schedules": sorted(
            schedule(
                {
                    "ScheduledActionName": one["name"],
                    "Schedule": one["schedule"],
                    "Timezone": one["timezone"],
                    "ScalableTargetAction": {
                        _camel(name): int(value) for name, value in one["scalable_target_action"][0].items()
                    },
                }
            )
            for one in all_of("appautoscaling_scheduled_action")
        ),
        "queues": sorted(
            mapping(
                {
                    "EventSourceArn": one["event_source_arn"],
                    "BatchSize": one["batch_size"],
                    "FunctionResponseTypes": one["function_response_types"],
                    "MaximumBatchingWindowInSeconds": one["maximum_batching_window_in_seconds"] or 0,
                    "FunctionName": "live",  # its ARN is known when it is there
                    "Tags": one["tags"],
                }
            )
            for one in all_of("lambda_event_source_mapping")
        ),
    }


def _tracking(has: dict[str, Any]) -> dict[str, Any]:
    metric = has["predefined_metric_specification"][0]["predefined_metric_type"]
    return {"TargetValue": has["target_value"], "PredefinedMetricSpecification": {"PredefinedMetricType": metric}}


def _camel(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))
