"""Terraform: parsed by others, formatted as `terraform fmt` does, planned by the real provider, applied here."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import hcl2
import pytest
from deploy_account import connect, deploy
from export_account import state
from export_cases import CASES, SAID, text, wanted
from export_made import by_deploy, watching
from export_templates import parsed, resources
from export_terraform import by_plan, plugins, run, terraform, write_module, write_root

from coldpress.deploy.wanted import Wanted
from coldpress.errors import UsageError
from coldpress.export.model import stack
from coldpress.export.run import contents
from coldpress.export.stack import snake

FILES = ("main.tf", "variables.tf", "outputs.tf", "versions.tf")
NODE = Path(__file__).parents[2] / ".cache" / "node" / "node_modules" / "@cdktf" / "hcl-tools"


def whole(wish: Wanted) -> str:
    return "\n".join(text("terraform", wish, name) for name in FILES)


@pytest.mark.parametrize("case", CASES)
def test_references_resolve_and_nothing_is_idle(tmp_path: Path, case: str) -> None:
    content = whole(wanted(tmp_path, case))
    found = hcl2.loads(content)
    stated = [*found["resource"], *found.get("data", [])]
    declared = {
        f"{kind}.{label}".replace('"', "") for one in stated for kind, named in one.items() for label in named
    }
    variables = {name.strip('"') for one in found.get("variable", []) for name in one}
    code = re.sub(r"#.*", "", content)
    assert set(re.findall(r"\b(aws_[a-z_]+\.[a-z_0-9]+)", code)) <= declared
    assert (
        set(re.findall(r"\bvar\.([a-z_0-9]+)", text("terraform", wanted(tmp_path, case), "main.tf"))) == variables
    )
    parameters = {snake(one.name) for one in stack(wanted(tmp_path, case)).parameters}
    assert variables == parameters


def test_it_is_formatted_as_terraform_has_it(tmp_path: Path) -> None:
    for case in CASES:
        (tmp_path / case).mkdir()
        for name in FILES:
            (tmp_path / case / name).write_text(text("terraform", wanted(tmp_path, case), name), encoding="utf-8")
    assert run(tmp_path, "fmt", "-recursive", "-check", "-diff") == ""
    crooked = tmp_path / "crooked.tf"
    crooked.write_text('locals {\n  a = 1\n  bc = "2"\n}\n')
    done = subprocess.run(
        [terraform(), "fmt", "-check"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "crooked.tf" in done.stdout


def test_it_is_formatted_as_hashicorps_writer_has_it(tmp_path: Path) -> None:
    """The same judge without Terraform: its own formatter, in WebAssembly."""
    if shutil.which("node") is None or not NODE.exists():
        pytest.skip("npm install --prefix .cache/node @cdktf/hcl-tools@0.21.0")
    given = {case: whole(wanted(tmp_path, case)) for case in CASES}
    program = (
        f"const {{format}} = require({json.dumps(str(NODE))});"
        "const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "(async () => { for (const name in given) given[name] = await format(given[name]);"
        "process.stdout.write(JSON.stringify(given), () => process.exit(0)); })()"
    )
    done = subprocess.run(
        ["node", "-e", program], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == given


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """All wishes at once, each as a module: what Terraform and the provider make of them. Nothing is called."""
    folder = tmp_path_factory.mktemp("planned")
    said = {}
    for case in CASES:
        wish = wanted(folder, case)
        write_module(folder / case, wish)
        said[case] = {snake(one.name): SAID[one.name] for one in stack(wish).parameters if one.default is None}
        said[case].pop("code_bucket", None)
    write_root(folder, "http://127.0.0.1:1", said)
    run(folder, "init", f"-plugin-dir={plugins()}", "-input=false")
    run(folder, "plan", "-input=false", "-refresh=false", "-out=plan")
    shown = json.loads(run(folder, "show", "-json", "plan"))
    modules = shown["planned_values"]["root_module"]["child_modules"]
    return folder, {one["address"].removeprefix("module."): one["resources"] for one in modules}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_it_plans_what_deploy_makes(
    planned: tuple[Path, dict[str, list[dict[str, Any]]]], case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, resources = planned
    made, expected = by_plan(resources[case]), by_deploy(wanted(folder, case), monkeypatch)
    if expected["role"]:  # its ARN is known when it is there, and so is the document that names the log
        expected["role"]["policies"] = list(expected["role"]["policies"])
        expected["function"]["Role"] = None
    # the provider that lies here cannot say it; that it is written is looked at below
    expected["doors"] = sorted((*one[:3], None) for one in expected["doors"])
    assert made == expected


@pytest.mark.slow
def test_it_is_watched_as_by_cloudformation(account: str, tmp_path: Path) -> None:
    """Applied by the real provider; moto keeps the dashboard, the alarms and the mapping as it was told them."""
    wish = wanted(tmp_path, "watched_closely", autoscale=None)
    aws = connect(account)
    aws.call("sqs", "create_queue", QueueName="jobs")
    write_module(tmp_path / "small", wish)
    write_root(tmp_path, account, {"small": {}})
    run(tmp_path, "init", f"-plugin-dir={plugins()}", "-input=false")
    run(tmp_path, "apply", "-auto-approve", "-input=false")
    expected = watching(resources(parsed(text("cloudformation", wish, "template.yaml"))))
    (board,) = aws.call("cloudwatch", "list_dashboards")["DashboardEntries"]
    assert board["DashboardName"] == expected["name"]
    kept = aws.call("cloudwatch", "get_dashboard", DashboardName=board["DashboardName"])["DashboardBody"]
    assert json.loads(kept) == expected["body"]
    made = {one["AlarmName"]: one for one in aws.call("cloudwatch", "describe_alarms")["MetricAlarms"]}
    assert made.keys() == expected["alarms"].keys()
    for name, alarm in expected["alarms"].items():
        tags = aws.call("cloudwatch", "list_tags_for_resource", ResourceARN=made[name]["AlarmArn"])["Tags"]
        assert {one["Key"]: one["Value"] for one in tags} == alarm.pop("Tags")
        assert _ordered(made[name].pop("Metrics")) == _ordered(alarm.pop("Metrics"))
        assert {key: made[name][key] for key in alarm} == alarm
    (mapped,) = aws.call("lambda", "list_event_source_mappings")["EventSourceMappings"]
    assert (mapped["BatchSize"], mapped["FunctionResponseTypes"]) == (10, ["ReportBatchItemFailures"])


def _ordered(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the provider keeps in sets."""
    for one in queries:
        if "MetricStat" in one:
            one["MetricStat"]["Metric"]["Dimensions"].sort(key=lambda dimension: str(dimension["Name"]))
    return sorted(queries, key=lambda query: str(query["Id"]))


@pytest.mark.parametrize("case", CASES)
def test_a_door_is_open_by_the_url_only(tmp_path: Path, case: str) -> None:
    wish = wanted(tmp_path, case)
    main = text("terraform", wish, "main.tf")
    blocks = re.findall(r'resource "aws_lambda_permission" .*?\n}\n', main, re.DOTALL)
    assert len(blocks) == (2 if wish.url in ("token", "public") else 0)
    for block in blocks:
        assert ('"lambda:InvokeFunction"' in block) == ("invoked_via_function_url = true" in block)
        assert ('"lambda:InvokeFunctionUrl"' in block) == (
            'function_url_auth_type = "NONE"' in re.sub(" +", " ", block)
        )
        assert f'count = var.url_mode == "{wish.url}" ? 1 : 0' in re.sub(" +", " ", block)
    assert ('"NONE"' in main) == bool(blocks)
    assert ('">= 6.28"' in text("terraform", wish, "versions.tf")) == bool(blocks)


@pytest.mark.slow
def test_it_leaves_what_deploy_leaves(account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Applied by the real provider. moto has nothing that is kept ready, and no tags for Application Auto Scaling,
    which the provider asks for: those are compared above, by the plan."""
    wish = wanted(tmp_path, "settings", tmp_mb=1024, json_log=False)
    write_module(tmp_path / "small", wish)
    write_root(tmp_path, account, {"small": {}})
    run(tmp_path, "init", f"-plugin-dir={plugins()}", "-input=false")
    run(tmp_path, "apply", "-auto-approve", "-input=false")
    by_terraform = state(account)
    _empty(account)
    deploy(account, wish)
    assert by_terraform == state(account)


@pytest.mark.parametrize("case", CASES)
def test_a_change_publishes_a_version(tmp_path: Path, case: str) -> None:
    """The provider publishes whatever it changes, and the alias is on what was published last."""
    main = re.sub(" +", " ", text("terraform", wanted(tmp_path, case), "main.tf"))
    assert "\n publish = true\n" in main
    assert "\n function_version = aws_lambda_function.function.version\n" in main


def _empty(account: str) -> None:
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{account}/moto-api/reset", method="POST")).read()


def test_large_code_has_to_be_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coldpress.export import terraform as writer

    assert "= null" in text("terraform", wanted(tmp_path, "plain"), "variables.tf")
    assert "aws s3 cp" not in text("terraform", wanted(tmp_path, "plain"), "README.md")
    monkeypatch.setattr(writer, "DIRECT", 2)
    assert "= null" not in text("terraform", wanted(tmp_path, "plain"), "variables.tf")
    assert "aws s3 cp" in text("terraform", wanted(tmp_path, "plain"), "README.md")


def test_what_terraform_would_write_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="composed form"):
        contents("terraform", wanted(tmp_path, "plain", env={"NAME": "e\u0301"}))
