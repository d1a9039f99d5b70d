"""Any text comes through every format as it was: quotes, templates, lines, words that mean something, letters."""

import ast
import json
import string
import unicodedata
from types import SimpleNamespace

import pytest
from export_cases import pressed
from export_templates import parsed, resources
from export_terraform import run
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.deploy.sink import Sink
from coldpress.deploy.wanted import Wanted
from coldpress.errors import UsageError
from coldpress.export import hcl, python
from coldpress.export.run import contents

#: what means something to one of the formats
MEANS = (
    *("${", "%{", "$${", "%%{", "$", "%", "{{", "}}", "{", "}", "!Ref A", "&a", "*a", "~", "=", "<<", "|", ">"),
    *("'", '"', "\\", "\\n", "\n", "\r\n", "\t", "#", " #", ": ", ":", "- ", "? ", ",", "[", "]", "`", "@", "%"),
    *(
        "yes",
        "no",
        "null",
        "true",
        "1",
        "1.5",
        "0x1f",
        "1e3",
        "1:30",
        "2026-11-16",
        " ",
        "\u2028",
        "\x85",
        "\ufeff",
    ),
)
TEXTS = st.lists(
    st.sampled_from(MEANS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=6
).map("".join)
NAMES = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=12).map(lambda name: f"V{name}")
PAIRS = st.dictionaries(NAMES, TEXTS, max_size=6)


#: prefixes that --sink takes: in a role's policy they stand beside what is known only when somebody deploys
PIECES = st.sampled_from([one for one in MEANS if one.isprintable() and not set(one) & set("*?")])
PREFIXES = (
    st.lists(
        PIECES | st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="*?"), max_size=8),
        max_size=6,
    )
    .map("".join)
    .filter(lambda text: _is_taken(f"s3://answers/{text}"))
)


def _is_taken(sink: str) -> bool:
    try:
        return bool((place := Sink.parse(sink).place) and place.prefix)
    except UsageError:
        return False


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return pressed(tmp_path_factory.mktemp("texts") / "out")


@given(env=PAIRS, tags=st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=4))
@settings(deadline=None)
def test_yaml(artifact: Artifact, env: dict[str, str], tags: dict[str, str]) -> None:
    wish = Wanted("small", artifact, env=env, tags=tags)
    template = parsed(str(contents("cloudformation", wish)["template.yaml"]))
    function = template["Resources"]["Function"]["Properties"]
    assert function["Environment"]["Variables"] == {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/bootstrap", **env}
    assert {one["Key"]: one["Value"] for one in function.get("Tags", [])} == tags
    by_sam = parsed(str(contents("sam", wish)["template.yaml"]))["Resources"]["Function"]["Properties"]
    assert by_sam["Environment"] == function["Environment"] and by_sam.get("Tags", {}) == tags


@given(st.lists(PAIRS, min_size=10, max_size=40))
@settings(deadline=None, max_examples=10)
def test_terraform(tmp_path_factory: pytest.TempPathFactory, many: list[dict[str, str]]) -> None:
    """Terraform itself reads them; it composes what can be composed, which is why the rest is refused."""
    whole = [
        {name: unicodedata.normalize("NFC", value) for name, value in pairs.items() if "\x00" not in value}
        for pairs in many
    ]
    folder = tmp_path_factory.mktemp("hcl")
    outputs = [hcl.Block("output", (f"o{number}",), {"value": pairs}) for number, pairs in enumerate(whole)]
    (folder / "main.tf").write_text(hcl.document(outputs), encoding="utf-8")
    assert run(folder, "fmt", "-check", "-diff") == ""
    run(folder, "apply", "-auto-approve", "-input=false")
    found = json.loads(run(folder, "output", "-json"))
    assert [found[f"o{number}"]["value"] for number in range(len(whole))] == whole


@given(st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)))
@settings(deadline=None)
def test_python(value: object) -> None:
    assert ast.literal_eval("\n".join(python.lines("", value, 0))) == value
    assert ast.literal_eval(python.expression(value)) == value


@given(env=PAIRS)
@settings(deadline=None, max_examples=25)
def test_an_app_is_python(artifact: Artifact, env: dict[str, str]) -> None:
    tree = ast.parse(str(contents("cdk-python", Wanted("small", artifact, env=env))["app.py"]))
    (said,) = [
        ast.literal_eval(one.value)
        for one in ast.walk(tree)
        if isinstance(one, ast.keyword) and one.arg == "environment"
    ]
    assert said == {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/bootstrap", **env}


@given(PREFIXES)
@settings(deadline=None, max_examples=50)
def test_a_prefix(artifact: Artifact, prefix: str) -> None:
    """As the partition is filled in, by CloudFormation and by Python."""
    wish = Wanted("small", artifact, sink=Sink.parse(f"s3://answers/{prefix}"))
    expected = f"arn:aws:s3:::answers/{prefix.strip('/')}/*"
    made = resources(parsed(str(contents("cloudformation", wish)["template.yaml"])))["Role"]["Properties"]
    assert made["Policies"][0]["PolicyDocument"]["Statement"][1]["Resource"] == expected
    tree = ast.parse(str(contents("cdk-python", wish)["app.py"]))
    (written,) = [
        one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) and "self.partition" in ast.unparse(one)
    ]
    assert eval(ast.unparse(written), {"self": SimpleNamespace(partition="aws")}) == expected


@given(st.lists(PREFIXES, min_size=5, max_size=20))
@settings(deadline=None, max_examples=5)
def test_a_prefix_in_terraform(tmp_path_factory: pytest.TempPathFactory, many: list[str]) -> None:
    whole = [unicodedata.normalize("NFC", one) for one in many]
    folder = tmp_path_factory.mktemp("prefixes")
    outputs = [
        hcl.Block(
            "output", (f"o{number}",), {"value": hcl.template(("arn:", hcl.Raw('"aws"'), f":s3:::a/{one}/*"))}
        )
        for number, one in enumerate(whole)
    ]
    (folder / "main.tf").write_text(hcl.document(outputs), encoding="utf-8")
    run(folder, "apply", "-auto-approve", "-input=false")
    found = json.loads(run(folder, "output", "-json"))
    assert [found[f"o{number}"]["value"] for number in range(len(whole))] == [
        f"arn:aws:s3:::a/{one}/*" for one in whole
    ]
