"""CDK: the app is real code, which aws-cdk-lib makes a template of; that one makes what deploy makes."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from export_cases import CASES, SAID, text, wanted
from export_made import by_deploy, by_template, watching
from export_templates import parsed, resources
from test_export_cloudformation import lint

from coldpress.export.run import contents, export

SYNTH = Path(__file__).with_name("export_synth.py")
#: beside the wishes: the same again, with something said otherwise
SAID_OTHERWISE = {
    "closed_by_context": ("public", {"url_mode": "none"}),
    "iam_by_context": ("public", {"url_mode": "iam", "memory_size": "1024"}),
    "other_env": ("plain", {}),
    "opened": ("plain", {"url_mode": "public"}),
    "without_image": ("image", {"image_uri": ""}),
}


def write_app(folder: Path, case: str, context: dict[str, str], **more: Any) -> None:
    export("cdk-python", wanted(folder.parent, case, **more), folder)
    image = {"image_uri": SAID["ImageUri"]} if CASES[case].get("package") == "image" else {}
    (folder / "cdk-context.json").write_text(json.dumps({**image, **context}))


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every app, with its template in cdk.out/small.template.json."""
    if find_spec("aws_cdk") is None:
        pytest.skip("pip install aws-cdk-lib==2.275.0 constructs==10.8.1")
    if shutil.which("node") is None:
        pytest.skip("aws-cdk-lib runs on node: apt-get install nodejs")
    folder = tmp_path_factory.mktemp("cdk")
    for case in CASES:
        write_app(folder / case, case, {})
    for name, (case, context) in SAID_OTHERWISE.items():
        write_app(folder / name, case, context, **({"env": {"NEW": "1"}} if name == "other_env" else {}))
    command = [sys.executable, str(SYNTH), *(str(folder / name) for name in (*CASES, *SAID_OTHERWISE))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def template(synthesized: Path, case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((synthesized / case / "cdk.out" / "small.template.json").read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_it_makes_what_deploy_makes(synthesized: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = by_template(resources(template(synthesized, case)))
    assert made == by_deploy(wanted(synthesized, case), monkeypatch)


@pytest.mark.parametrize("case", [one for one in CASES if "watch" in CASES[one]])
def test_it_is_watched_as_by_cloudformation(synthesized: Path, case: str) -> None:
    expected = parsed(text("cloudformation", wanted(synthesized, case), "template.yaml"))
    assert watching(resources(template(synthesized, case))) == watching(resources(expected))


def test_the_linter_has_no_objection(synthesized: Path) -> None:
    found = lint(*(synthesized / case / "cdk.out" / "small.template.json" for case in CASES))
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_a_door_can_be_closed(synthesized: Path) -> None:
    closed = by_template(resources(template(synthesized, "closed_by_context")))
    assert closed["url"] == closed["doors"] == []
    signed = by_template(resources(template(synthesized, "iam_by_context")))
    assert signed["url"] == [("live", "AWS_IAM")] and signed["doors"] == []
    assert signed["function"]["MemorySize"] == 1024


def version(synthesized: Path, case: str) -> str:
    found = template(synthesized, case)["Resources"]
    ((name, one),) = [(name, one) for name, one in found.items() if one["Type"] == "AWS::Lambda::Version"]
    assert one["DeletionPolicy"] == one["UpdateReplacePolicy"] == "Retain"
    return str(name)


def test_a_change_publishes_a_version(synthesized: Path) -> None:
    same = version(synthesized, "public")
    assert version(synthesized, "closed_by_context") == same
    assert version(synthesized, "iam_by_context") != same
    assert version(synthesized, "other_env") != version(synthesized, "plain")


def test_a_new_token_is_a_new_version_too(synthesized: Path) -> None:
    """It is said to CloudFormation, and CDK does not see it: the version's description has it."""
    found = template(synthesized, "token")
    assert found["Parameters"]["TokenSha256"]["NoEcho"] is True
    described = [
        one["Properties"]["Description"]
        for one in found["Resources"].values()
        if one["Type"].endswith("::Version")
    ]
    assert json.dumps(described) == json.dumps([{"Fn::Join": ["", ["token_sha256 ", {"Ref": "TokenSha256"}]]}])


def test_what_is_said_wrongly(synthesized: Path) -> None:
    assert (
        synthesized / "opened" / "refused.txt"
    ).read_text() == "url_mode is 'public'; it can be: ['iam', 'none']"
    said = (synthesized / "without_image" / "refused.txt").read_text()
    assert said == "image_uri has to be said: -c image_uri=..."
    assert len(list(synthesized.glob("*/refused.txt"))) == 2


@pytest.mark.parametrize("case", CASES)
def test_it_is_written_as_people_write(tmp_path: Path, case: str) -> None:
    """For ruff, with its defaults."""
    written = tmp_path / "app.py"
    written.write_text(text("cdk-python", wanted(tmp_path, case), "app.py"), encoding="utf-8")
    for command in (["check"], ["format", "--check", "--diff"]):
        ruff = [str(Path(sys.executable).parent / "ruff"), *command, "--isolated", str(written)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_its_files(tmp_path: Path) -> None:
    found = contents("cdk-python", wanted(tmp_path, "plain"))
    assert json.loads(str(found["cdk.json"])) == {"app": "python3 app.py"}
    assert set(found) == {"app.py", "cdk.json", "requirements.txt", "README.md", "function.zip"}
