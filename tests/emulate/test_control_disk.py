"""What is deployed stays: through restarts, kills and half-written files; and code stays in its folder."""

import io
import json
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from test_control import ANY, READ, client_of, create, deployed_to, invoke, refused, zipped

from coldpress.emulate.control.store import Store
from coldpress.emulate.serving import running_functions
from coldpress.errors import ColdpressError, UsageError


def everything(client: Any, name: str) -> Any:
    """All that can be asked of a function, without what belongs to the request or the address."""
    one = {"FunctionName": name}
    told = [
        client.get_function(**one),
        client.list_versions_by_function(**one),
        client.list_aliases(**one),
        client.get_policy(Qualifier="live", **one),
        client.list_function_url_configs(**one),
        client.get_function_concurrency(**one),
    ]
    for answer in told:
        del answer["ResponseMetadata"]
        for url in answer.get("FunctionUrlConfigs", []):
            url["FunctionUrl"] = url["FunctionUrl"].partition("/_/")[2]
    return told


def deploy_all(client: Any, name: str) -> None:
    one = {"FunctionName": name}
    create(client, name, zipped(ANY, which="one"), Publish=True, Tags={"a": "b"})
    client.update_function_code(ZipFile=zipped(ANY, which="two"), Publish=True, **one)
    weights = {"AdditionalVersionWeights": {"2": 0.5}}
    client.create_alias(Name="live", FunctionVersion="1", RoutingConfig=weights, **one)
    said = {"StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "*"}
    client.add_permission(Qualifier="live", **said, **one)
    client.create_function_url_config(Qualifier="live", AuthType="AWS_IAM", **one)
    client.put_function_concurrency(ReservedConcurrentExecutions=7, **one)
    client.put_provisioned_concurrency_config(Qualifier="live", ProvisionedConcurrentExecutions=2, **one)


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    with deployed_to(tmp_path) as (_, client):
        deploy_all(client, "kept")
        before = everything(client, "kept")
    with deployed_to(tmp_path) as (served, client):
        assert everything(client, "kept") == before
        assert invoke(client, "kept:1", READ) == ("one", "1")
        assert {invoke(client, "kept:live", READ) for _ in range(30)} == {("one", "1"), ("two", "2")}
        live = {"FunctionName": "kept", "Qualifier": "live"}
        end = time.monotonic() + 10
        while client.get_provisioned_concurrency_config(**live)["Status"] != "READY":
            assert time.monotonic() < end
            time.sleep(0.02)
        assert served.local.plane.fleets.served["kept", "1"].fleet.available == 1


def test_a_killed_one_loses_nothing(tmp_path: Path) -> None:
    """The real command, killed with -9 while it works; its sandboxes end with it."""
    command = [
        str(Path(sys.executable).parent / "coldpress"),
        "serve",
        "--functions",
        str(tmp_path / "f"),
        "--port",
        "0",
    ]
    with (tmp_path / "log").open("w+b") as log:
        process = subprocess.Popen(command, stderr=log, stdout=log)
        try:
            end = time.monotonic() + 20
            while b"--endpoint-url" not in (tmp_path / "log").read_bytes():
                assert process.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
                time.sleep(0.02)
            url = (tmp_path / "log").read_text().split("--endpoint-url ")[1].split()[0]
            with client_of(url) as client:
                create(client, "killed", zipped(ANY, which="one"), Publish=True)
                client.get_waiter("function_active_v2").wait(FunctionName="killed")
                assert invoke(client, "killed:1", READ) == ("one", "1")
                before = client.get_function(FunctionName="killed")["Configuration"]
        finally:
            process.kill()
            process.wait()
    with deployed_to(tmp_path / "f") as (_, client):
        assert client.get_function(FunctionName="killed")["Configuration"] == before
        assert invoke(client, "killed:1", READ) == ("one", "1")


def test_what_was_half_written_is_not_there(tmp_path: Path) -> None:
    with deployed_to(tmp_path) as (_, client):
        create(client, "whole", zipped())
    (tmp_path / "functions" / ".partial-0123").write_text('{"format": 1, "name": "who')
    left = tmp_path / "code" / ".partial-4567"
    left.mkdir()
    (left / "bootstrap").write_text("#!/bin/")
    unused = tmp_path / "code" / ("0" * 64)
    unused.mkdir()
    other = tmp_path / "code" / "somebody else's"
    other.mkdir()
    with deployed_to(tmp_path) as (_, client):
        assert [one["FunctionName"] for one in client.list_functions()["Functions"]] == ["whole"]
        assert invoke(client, "whole")[0] == "hi"
    assert not list((tmp_path / "functions").glob(".partial-*"))
    assert not left.exists() and not unused.exists() and other.exists()


def test_what_could_not_be_written_has_not_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed_to(tmp_path) as (_, client):
        create(client, "full", zipped())

        def fails(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("coldpress.emulate.control.store.json.dump", fails)
        kind, status, message = refused(client.update_function_configuration, FunctionName="full", Timeout=99)
        assert (kind, status) == ("ServiceException", 500) and "No space left" in message
        assert client.get_function_configuration(FunctionName="full")["Timeout"] == 10
        monkeypatch.undo()
        assert not list((tmp_path / "functions").glob(".partial-*"))
        assert client.update_function_configuration(FunctionName="full", Timeout=99)["Timeout"] == 99


def test_one_folder_is_for_one(tmp_path: Path) -> None:
    with running_functions(tmp_path), pytest.raises(UsageError, match="in use by another"):
        Store(tmp_path)
    Store(tmp_path).close()


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 99}', '{"format": 1, "unknown": 1}'])
def test_states_that_are_none(tmp_path: Path, text: str) -> None:
    Store(tmp_path).close()
    (tmp_path / "functions" / "odd.json").write_text(text)
    with pytest.raises(ColdpressError, match=r"odd\.json"):
        Store(tmp_path)


def made_zip(*members: tuple[str, int, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, mode, text in (("bootstrap", stat.S_IFREG | 0o755, "#!/bin/sh\n"), *members):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = mode << 16
            archive.writestr(entry, text)
    return made.getvalue()


FILE, LINK = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "members",
    [
        [("../outside", FILE, "x")],
        [("a/../../outside", FILE, "x")],
        [("/outside", FILE, "x")],
        [("..\\outside", FILE, "x")],
        [("link", LINK, "/etc"), ("link/outside", FILE, "x")],
        [("link", LINK, "..")],
        [("link", LINK, "/etc/passwd")],
        [("a/b/link", LINK, "../../../outside")],
        [("s/file", FILE, "x"), ("p/q/d", LINK, "../../s"), ("out", LINK, "p/q/d/../../outside")],
        [("d", LINK, "."), ("d/link", LINK, "x")],
        [("bootstrap", FILE, "twice")],
    ],
)
def test_code_stays_in_its_folder(tmp_path: Path, members: list[tuple[str, int, str]]) -> None:
    from coldpress.emulate.control.code import describe, unpack
    from coldpress.emulate.front.invoke_api import Refusal

    store = Store(tmp_path / "kept")
    data = made_zip(*members)
    with pytest.raises(Refusal) as refusal:
        unpack(data, describe(data), store)
    assert refusal.value.kind == "InvalidParameterValueException"
    assert {path.name for path in tmp_path.rglob("*")} == {"kept", "code", "functions", "lock"}
    store.close()


def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    from coldpress.emulate.control.code import describe, unpack

    store = Store(tmp_path)
    data = made_zip(
        ("bin/tool", stat.S_IFREG | 0o750, "x"),
        ("secret", stat.S_IFREG | 0o400, "x"),
        ("bin/again", LINK, "../secret"),
    )
    code = describe(data)
    unpack(data, code, store)
    folder = store.code(code.digest)
    modes = [stat.S_IMODE((folder / name).stat().st_mode) for name in ("bootstrap", "bin/tool", "secret")]
    assert modes == [0o755, 0o750, 0o400]
    assert (folder / "bin" / "again").readlink() == Path("../secret")
    store.close()


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldpress.emulate.control.code.LARGEST_UNPACKED", 1_000_000)
    with (
        deployed_to(tmp_path) as (_, client),
        pytest.raises(client.exceptions.InvalidParameterValueException) as said,
    ):
        create(client, "bomb", made_zip(("zeros", FILE, "\0" * 1_000_001)))
    assert "Unzipped size must be smaller than 1000000 bytes" in str(said.value)
    assert not [*(tmp_path / "code").iterdir()]


def test_the_command_wants_one_of_both(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from coldpress.cli.serve import serve

    for arguments, named in (
        ([], "--functions"),
        (["some", "--functions", str(tmp_path)], "one of them"),
        (["--functions", str(tmp_path), "--memory", "512"], "--memory is said of each function"),
    ):
        done = CliRunner().invoke(serve, arguments)
        assert isinstance(done.exception, UsageError) and named in str(done.exception)


def test_states_are_json_that_people_can_read(tmp_path: Path) -> None:
    with deployed_to(tmp_path) as (_, client):
        create(client, "plain", zipped(), Environment={"Variables": {"TOKEN": "secret"}})
    state = json.loads((tmp_path / "functions" / "plain.json").read_text())
    assert state["format"] == 1 and state["versions"]["$LATEST"]["Handler"] == "any"
    assert stat.S_IMODE((tmp_path / "functions").stat().st_mode) == 0o700
