"""Images: moto's ECR keeps the books, a real registry keeps the bytes, behind the password that ECR gives out."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deploy_account import Killed, Mortal, connect, deploy
from registries import needs, serve_locked, silent

from coldpress.artifact import Artifact
from coldpress.deploy.manage import delete, prune, status
from coldpress.deploy.parts import image as part
from coldpress.deploy.plan import plan
from coldpress.deploy.wanted import Wanted
from coldpress.errors import ArtifactError, DeployError
from coldpress.package.oci.base import MANIFEST, open_base
from coldpress.package.oci.image import make_image
from coldpress.package.oci.push import push as oci_push
from coldpress.package.oci.reference import Reference

ACCOUNT = "123456789012"


def imaged(folder: Path, content: bytes) -> Artifact:
    """An artifact with a small image; nobody runs it here."""
    (folder / "function").mkdir(parents=True)
    (folder / "function" / "bootstrap").write_bytes(content)
    make_image(folder / "function", "small", open_base("scratch", "x86_64", silent), folder / "image", silent)
    said = {"format": 1, "name": "small", "arch": "x86_64", "models": {}, "files": {}}
    (folder / "coldpress.json").write_text(json.dumps(said))
    return Artifact.open(folder)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry that asks for the name and password that moto's ECR gives out."""
    yield from serve_locked(tmp_path_factory.mktemp("guarded"), "AWS", f"{ACCOUNT}-auth-token")


@pytest.fixture
def registry(account: str, guarded: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is pushed there is in moto's books afterwards, as in ECR, where both are one."""
    monkeypatch.setenv("MOTO_LAMBDA_STUB_ECR", "false")

    def reference(text: str) -> Reference:
        said = Reference.parse(text)
        return Reference(guarded, said.repository, said.tag)

    real = oci_push

    def push(image: Any, target: Reference, *rest: Any, **more: Any) -> str:
        done = real(image, target, *rest, **more)
        connect(account).call(
            "ecr",
            "put_image",
            repositoryName=target.repository,
            imageManifest=image.encoded.decode(),
            imageManifestMediaType=MANIFEST,
            imageTag=target.tag,
            imageDigest=image.digest,
        )
        return done

    monkeypatch.setattr(part, "_reference", reference)
    monkeypatch.setattr(part, "push", push)
    return guarded


def test_pushed_by_digest_and_run(account: str, registry: str, tmp_path: Path) -> None:
    first = imaged(tmp_path / "first", b"one")
    facts, writes = deploy(account, Wanted("small", first))
    assert facts.version == "1"
    assert writes.index(("ecr", "create_repository")) < writes.index(("lambda", "create_function"))
    aws = connect(account)
    found = aws.call("lambda", "get_function", FunctionName="small", Qualifier="live")
    digest = json.loads((first.path / "image/index.json").read_text())["manifests"][0]["digest"]
    assert found["Code"]["ImageUri"].endswith(f"/coldpress-small@{digest}")
    assert found["Configuration"]["CodeSha256"] == digest.removeprefix("sha256:")
    assert "Handler" not in found["Configuration"] or not found["Configuration"]["Handler"]
    assert deploy(account, Wanted("small", first))[1] == []
    needs("skopeo")
    login = ("--creds", f"AWS:{ACCOUNT}-auth-token", "--tls-verify=false")
    source = f"docker://{registry}/coldpress-small@{digest}"
    done = subprocess.run(["skopeo", "inspect", "--raw", *login, source], capture_output=True, check=True)
    assert hashlib.sha256(done.stdout).hexdigest() == digest.removeprefix("sha256:")


def test_who_may_read_the_repository(account: str, registry: str, tmp_path: Path) -> None:
    deploy(account, Wanted("small", imaged(tmp_path / "first", b"one")))
    found = connect(account).call("ecr", "get_repository_policy", repositoryName="coldpress-small")
    (statement,) = json.loads(found["policyText"])["Statement"]
    #: every action that Lambda itself has on the repository, and why
    reasons = {"ecr:BatchGetImage": "the manifest", "ecr:GetDownloadUrlForLayer": "its layers"}
    assert set(statement["Action"]) == set(reasons)
    assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}
    arn = f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:small"
    assert statement["Condition"] == {"StringLike": {"aws:sourceArn": arn}}


def test_old_images_go_with_their_versions(account: str, registry: str, tmp_path: Path) -> None:
    for number in range(3):
        deploy(account, Wanted("small", imaged(tmp_path / str(number), f"code {number}".encode())))
    aws = connect(account)
    asked = {"repositoryName": "coldpress-small"}
    assert len(aws.call("ecr", "describe_images", **asked)["imageDetails"]) == 3
    prune(aws, "small", keep=1).run()
    assert status(aws, "small").versions == ["3"]
    assert len(aws.call("ecr", "describe_images", **asked)["imageDetails"]) == 1
    assert prune(aws, "small", keep=1).changes == []
    gone = delete(aws, "small")
    assert "repository coldpress-small" in [step.what for step in gone.steps]
    gone.run()
    assert aws.find("ecr", "describe_repositories", repositoryNames=["coldpress-small"]) is None


def test_killed_after_each_call(account: str, registry: str, tmp_path: Path) -> None:
    """The same end, every time; each under a name of its own, since the registry forgets nothing."""
    artifact = imaged(tmp_path / "first", b"one")
    for died in range(100):
        name = f"small{died}"
        mortal = connect(account, Mortal)
        assert isinstance(mortal, Mortal)
        mortal.left = died
        try:
            plan(mortal, Wanted(name, artifact)).run()
            break
        except Killed:
            deploy(account, Wanted(name, artifact))
        assert deploy(account, Wanted(name, artifact))[1] == [], f"killed after call {died + 1}"
        assert status(connect(account), name).live == "1"
    assert died > 12


def test_what_cannot_be(account: str, registry: str, tmp_path: Path) -> None:
    artifact = imaged(tmp_path / "first", b"one")
    deploy(account, Wanted("small", artifact))
    (artifact.path / "function.zip").write_bytes(b"zip")
    with pytest.raises(DeployError, match=r"that is an image, and .* is to be a zip"):
        deploy(account, Wanted("small", artifact))
    assert deploy(account, Wanted("small", artifact, package="image"))[1] == []
    with pytest.raises(ArtifactError, match="has no image: build it with --package image"):
        empty = tmp_path / "empty"
        empty.mkdir()
        (empty / "coldpress.json").write_bytes((artifact.path / "coldpress.json").read_bytes())
        deploy(account, Wanted("other", Artifact.open(empty), package="image"))


def test_names_of_repositories() -> None:
    assert part.repository_name("mini-lm") == "coldpress-mini-lm"
    odd = [part.repository_name(name) for name in ("MiniLM", "minilm", "mini_lm", "_", "a__b", "-a")]
    assert len(set(odd)) == len(odd)
    for name in odd:
        Reference.parse(f"localhost/{name}:tag")
