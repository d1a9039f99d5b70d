"""Names of images, and who we are at a registry."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from registries import serve_locked, silent

from coldpress.errors import ColdpressError, RegistryError, UsageError
from coldpress.package.oci.base import open_base
from coldpress.package.oci.credentials import Credentials, find_credentials
from coldpress.package.oci.image import make_image
from coldpress.package.oci.push import push
from coldpress.package.oci.reference import Reference

DIGEST = f"sha256:{'ab' * 32}"


@pytest.mark.parametrize(
    ("text", "registry", "repository", "asked"),
    [
        ("localhost:5000/name", "localhost:5000", "name", "latest"),
        ("public.ecr.aws/lambda/python:3.13", "public.ecr.aws", "lambda/python", "3.13"),
        ("docker.io/python:3.13-slim", "docker.io", "library/python", "3.13-slim"),
        (f"ghcr.io/a/b_c/d--e@{DIGEST}", "ghcr.io", "a/b_c/d--e", DIGEST),
        (f"[::1]:5000/x:1@{DIGEST}", "[::1]:5000", "x", DIGEST),
    ],
)
def test_names_are_read(text: str, registry: str, repository: str, asked: str) -> None:
    found = Reference.parse(text)
    assert (found.registry, found.repository, found.asked) == (registry, repository, asked)
    assert Reference.parse(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        *(
            "python",
            "python:3.13",
            "library/python",
            "localhost/",
            "host.com/Upper",
            "host.com/a//b",
            "host.com/a:",
        ),
        *("host.com/a@sha256:12", "host.com/a@md5:1", "https://host.com/a", "../x.y/z", "host.com/a/../b"),
        *("host.com:x/a", "a b.c/d"),
    ],
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UsageError):
        Reference.parse(text)


@given(st.text(max_size=80))
def test_any_text_is_a_name_or_refused(text: str) -> None:
    try:
        found = Reference.parse(text)
    except UsageError:
        return
    assert Reference.parse(str(found)) == found


def test_only_this_machine_is_spoken_to_in_the_open() -> None:
    assert Reference.parse("localhost:5000/x").address == "http://localhost:5000"
    assert Reference.parse("127.0.0.1:1/x").address == "http://127.0.0.1:1"
    for name in ("localhost.evil.com/x", "127.0.0.1.evil.com/x", "10.0.0.1:5000/x"):
        assert Reference.parse(name).address.startswith("https://")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration of docker's, and nobody else's."""
    folder = tmp_path / "docker"
    folder.mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)
    return folder / "config.json"


def encoded(name: str, password: str) -> str:
    return base64.b64encode(f"{name}:{password}".encode()).decode()


def test_a_stranger(docker: Path) -> None:
    assert find_credentials("host.com") is None
    docker.write_text("{}")
    assert find_credentials("host.com") is None


def test_as_docker_writes_them(docker: Path) -> None:
    auths = {
        "host.com": {"auth": encoded("me", "p:w")},
        "token.com": {"identitytoken": "refresh"},
        "https://index.docker.io/v1/": {"auth": encoded("hub", "pw")},
    }
    docker.write_text(json.dumps({"auths": auths}))
    assert find_credentials("host.com") == Credentials("me", "p:w")
    assert find_credentials("token.com") == Credentials(identity="refresh")
    assert find_credentials("docker.io") == Credentials("hub", "pw")
    assert "p:w" not in repr(find_credentials("host.com"))


def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "bin" / "docker-credential-test"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_a_helper_is_asked(docker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker.write_text(json.dumps({"credHelpers": {"host.com": "test"}, "credsStore": "missing"}))
    helper(
        tmp_path, monkeypatch, 'read -r name || :; echo "{\\"Username\\": \\"$1 $name\\", \\"Secret\\": \\"s\\"}"'
    )
    assert find_credentials("host.com") == Credentials("get host.com", "s")
    with pytest.raises(ColdpressError, match=r"docker-credential-missing, .* is not installed"):
        find_credentials("other.com")


@pytest.mark.parametrize(
    ("script", "message"),
    [("echo secret-thing; exit 1", "failed for host.com"), ("echo '[]'", "did not answer with a name")],
)
def test_a_helper_that_fails(
    script: str, message: str, docker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.write_text(json.dumps({"credHelpers": {"host.com": "test"}}))
    helper(tmp_path, monkeypatch, script)
    with pytest.raises(ColdpressError, match=message) as failed:
        find_credentials("host.com")
    assert "secret-thing" not in str(failed.value)


@pytest.mark.parametrize(
    "content", ["{", '{"auths": {"host.com": {"auth": "%%"}}}', '{"credHelpers": {"host.com": "../../bin/sh"}}']
)
def test_a_broken_configuration(content: str, docker: Path) -> None:
    docker.write_text(content)
    with pytest.raises(ColdpressError):
        find_credentials("host.com")


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[str]:
    """A real registry that wants a name and a password."""
    yield from serve_locked(tmp_path, "me", "opensesame")


def test_a_locked_registry(locked: str, docker: Path, tmp_path: Path) -> None:
    (tmp_path / "function").mkdir()
    (tmp_path / "function/bootstrap").write_text("#!/bin/sh\n")
    image = make_image(
        tmp_path / "function", "x", open_base("scratch", "x86_64", silent), tmp_path / "image", silent
    )
    target = Reference.parse(f"{locked}/x:1")
    with pytest.raises(RegistryError, match="asks who you are: log in with docker or podman"):
        push(image, target, silent)
    docker.write_text(json.dumps({"auths": {locked: {"auth": encoded("me", "wrong-password")}}}))
    with pytest.raises(RegistryError, match="401") as refused:
        push(image, target, silent)
    assert "wrong-password" not in str(refused.value)
    docker.write_text(json.dumps({"auths": {locked: {"auth": encoded("me", "opensesame")}}}))
    assert push(image, target, silent) == f"{locked}/x@{image.digest}"


def test_tokens_stay_out_of_what_is_printed(locked: str, docker: Path, tmp_path: Path) -> None:
    """Also of a command's whole output."""
    docker.write_text(json.dumps({"auths": {locked: {"auth": encoded("me", "hunter2-secret")}}}))
    program = str(Path(sys.executable).parent / "coldpress")
    made = [program, "build", "demo:minilm", "--quick", "--package", "image", "--base", f"{locked}/x:1"]
    done = subprocess.run([*made, "--out", str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "hunter2-secret" not in done.stdout + done.stderr
    assert encoded("me", "hunter2-secret") not in done.stdout + done.stderr
    assert not (tmp_path / "out").exists()
