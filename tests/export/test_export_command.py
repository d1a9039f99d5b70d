"""The command: the files, the same every time; never over what somebody changed, and never with a secret."""

import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from export_cases import CASES, SAID, pressed, wanted

from coldpress.errors import ArtifactError, TargetError, UsageError
from coldpress.export.folder import RECORD
from coldpress.export.model import stack
from coldpress.export.run import WRITERS, contents, export

COLDPRESS = str(Path(sys.executable).parent / "coldpress")
FILES = {
    "sam": {"template.yaml", "samconfig.toml"},
    "cloudformation": {"template.yaml"},
    "terraform": {"main.tf", "variables.tf", "outputs.tf", "versions.tf"},
    "cdk-python": {"app.py", "cdk.json", "requirements.txt"},
}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    pressed(tmp_path / "out")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COLDPRESS, "export", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return run


def test_what_it_writes_and_says(run: Run, tmp_path: Path) -> None:
    done = run(
        "terraform", "out", "--name", "minilm", "--url", "public", "--autoscale", "1:10@70%", "--env", "AB=c=d"
    )
    assert done.returncode == 0, done.stderr
    folder = Path("minilm-terraform")
    assert set(done.stdout.split()) == {
        str(folder / name) for name in FILES["terraform"] | {"README.md", "function.zip"}
    }
    assert "open to everybody" in done.stderr and f"next: {folder / 'README.md'}" in done.stderr
    assert (tmp_path / folder / "function.zip").read_bytes() == b"one"
    again = run("terraform", "out", "--name", "minilm", "--out", "infra/here")
    assert again.returncode == 0 and (tmp_path / "infra" / "here" / "main.tf").exists()


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (("pulumi", "out", "--name", "a"), "'pulumi' is not one of 'sam', 'cloudformation', 'terraform'", 2),
        (("sam", "nowhere", "--name", "a"), "nowhere has no coldpress.json: not an artifact", 1),
        (("sam", "out"), "Missing option '--name'", 2),
        (("sam", "out", "--name", "a b"), "'a b' is not a function's", 2),
        (("sam", "out", "--name", "a", "--out", "out"), "out holds files that export did not write", 1),
        (("sam", "out", "--name", "a", "--out", "out/function.zip"), "is not a folder", 1),
    ],
)
def test_what_is_wrong(run: Run, arguments: tuple[str, ...], says: str, code: int) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "") and says in done.stderr


def test_no_package(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'pulumi' is no kind of export; it can be: sam, cloudformation"):
        contents("pulumi", wanted(tmp_path, "plain"))
    artifact = wanted(tmp_path, "plain").artifact
    (artifact.path / "function.zip").unlink()
    with pytest.raises(ArtifactError, match=r"has no function.zip: build it with --package zip"):
        contents("sam", wanted(tmp_path, "plain"))
    (artifact.path / "image").rmdir()
    with pytest.raises(ArtifactError, match="has no image: build it with --package image"):
        contents("sam", wanted(tmp_path, "image"))


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("case", CASES)
def test_the_same_every_time(tmp_path: Path, kind: str, case: str) -> None:
    wish = wanted(tmp_path, case)
    found = contents(kind, wish)
    assert contents(kind, wish) == found
    assert set(found) == FILES[kind] | {"README.md"} | (set() if wish.image else {"function.zip"})
    assert str(tmp_path) not in json.dumps([one for one in found.values() if isinstance(one, str)])


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_somebody_changed_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    export("terraform", wanted(tmp_path, "plain"), out)
    before = bytes_in(out)
    (out / "terraform.tfstate").write_text("{}")  # what the tool itself leaves there
    export("terraform", wanted(tmp_path, "plain"), out)
    assert bytes_in(out) == before | {"terraform.tfstate": b"{}"}
    (out / "main.tf").write_text("mine")
    with pytest.raises(TargetError, match=r"main.tf in .* was changed since it was exported, and is left alone"):
        export("terraform", wanted(tmp_path, "token"), out)
    assert (out / "main.tf").read_text() == "mine" and (out / "variables.tf").read_bytes() == before[
        "variables.tf"
    ]
    export("terraform", wanted(tmp_path, "plain"), out, force=True)
    assert bytes_in(out) == before | {"terraform.tfstate": b"{}"}
    export("terraform", wanted(tmp_path, "image"), out)  # without a zip, which was ours
    assert not (out / "function.zip").exists() and (out / "terraform.tfstate").exists()


def test_a_folder_of_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "theirs"
    out.mkdir()
    (out / "notes").write_text("theirs")
    with pytest.raises(TargetError, match="holds files that export did not write"):
        export("sam", wanted(tmp_path, "plain"), out)
    assert bytes_in(out) == {"notes": b"theirs"}
    export("sam", wanted(tmp_path, "plain"), out, force=True)
    assert (out / "notes").read_text() == "theirs" and (out / "template.yaml").exists()
    (out / RECORD).write_text("no json")
    with pytest.raises(TargetError, match="cannot be read"):
        export("sam", wanted(tmp_path, "plain"), out)


def test_a_record_reaches_no_other_folder(tmp_path: Path) -> None:
    """Whatever somebody wrote into it, only what lies beside it is ever taken away."""
    out, other = tmp_path / "out", tmp_path / "precious"
    other.write_text("theirs")
    export("sam", wanted(tmp_path, "plain"), out)
    digest = hashlib.sha256(b"theirs").hexdigest()
    record = json.loads((out / RECORD).read_text())
    (out / RECORD).write_text(json.dumps({"files": record["files"] | {"../precious": digest}}))
    export("sam", wanted(tmp_path, "plain"), out)
    assert other.read_text() == "theirs"


@pytest.mark.parametrize("kind", WRITERS)
def test_a_token_is_asked_for_as_a_hash(tmp_path: Path, kind: str) -> None:
    """It is a parameter that is not echoed, without a default; the README makes one that fits."""
    files = {
        name: str(one) for name, one in contents(kind, wanted(tmp_path, "token")).items() if name != "function.zip"
    }
    whole = "\n".join(files.values())
    assert SAID["TokenSha256"] not in whole
    zipped = hashlib.sha256(b"one").hexdigest()
    assert set(re.findall(r"\b[0-9a-f]{64}\b", whole)) <= {zipped}
    hidden = {"terraform": "sensitive   = true", "cdk-python": "no_echo=True"}.get(kind, "NoEcho: true")
    assert hidden in whole
    (command,) = re.findall(r"^python3 -c .*$", files["README.md"], re.MULTILINE)
    said = subprocess.run(
        [sys.executable, *shlex.split(command)[1:]], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(said) == 2 and len(said[0]) >= 40
    assert hashlib.sha256(said[0].encode()).hexdigest() == said[1]
    pattern = stack(wanted(tmp_path, "token")).parameter("TokenSha256").pattern
    assert pattern is not None and re.fullmatch(pattern, said[1])


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("case", CASES)
def test_the_readme_has_the_commands(tmp_path: Path, kind: str, case: str) -> None:
    """Each of its commands can be split by a shell, and what has to be said is said in them."""
    wish = wanted(tmp_path, case)
    found = str(contents(kind, wish)["README.md"])
    commands = found.partition("```sh\n")[2].partition("```")[0]
    assert len(commands.splitlines()) >= 3 and shlex.split(commands, comments=True)
    needed = {one.name for one in stack(wish).parameters if one.default is None}
    if kind != "cloudformation":
        needed -= {"CodeBucket"}
    named = {"terraform", "cdk-python"} & {kind}
    for name in needed:
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        assert f"{name}=" in commands or (named and f"{snake}=" in commands)
    assert ("## The token" in found) == (wish.url == "token")
