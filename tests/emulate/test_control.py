"""Functions are deployed to the local Lambda by boto3, as to the real one. Each answer is held against botocore's
own model of the service: what it requires is there, and nothing that it does not know."""

import base64
import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from emulate_judges import ECHO, FUNCTIONS

from coldpress.emulate.control.routes import ROUTES
from coldpress.emulate.serving import RunningFunctions, running_functions
from coldpress.package.libraries import host_architecture

KEYS = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1"}
ROLE = "arn:aws:iam::012345678912:role/any"


def zipped(folder: Path = ECHO, **more: str) -> bytes:
    """A function's zip; `more` are further files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(str(path.relative_to(folder)))
                entry.external_attr = (stat.S_IFREG | (path.stat().st_mode & 0o777)) << 16
                archive.writestr(entry, path.read_bytes())
        for name, text in more.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, text)
    return made.getvalue()


ANY = FUNCTIONS / "any"
READ = {"code": "answer = open('/var/task/which').read()"}


def assert_fits(value: Any, shape: Any, where: str) -> None:
    """No member too many, none too few, each of its type."""
    match shape.type_name:
        case "structure":
            body = {n: m for n, m in shape.members.items() if m.serialization.get("location") is None}
            known = {member.serialization.get("name", name): member for name, member in body.items()}
            assert isinstance(value, dict), where
            assert value.keys() <= known.keys(), f"{where}: {value.keys() - known.keys()} is not in the model"
            required = {name for name in shape.required_members if name in body}
            assert required <= value.keys(), f"{where}: {required - value.keys()} is missing"
            for name, member in value.items():
                assert_fits(member, known[name], f"{where}.{name}")
        case "list":
            assert isinstance(value, list), where
            for one in value:
                assert_fits(one, shape.member, f"{where}[]")
        case "map":
            assert isinstance(value, dict), where
            for one in value.values():
                assert_fits(one, shape.value, f"{where}{{}}")
        case "timestamp":
            assert isinstance(value, int | float), where
        case "string":
            assert isinstance(value, str), where
            assert not getattr(shape, "enum", ()) or value in shape.enum, f"{where}: {value}"
        case "integer" | "long":
            assert isinstance(value, int) and not isinstance(value, bool), where
        case "double" | "float":
            assert isinstance(value, int | float), where
        case "boolean":
            assert isinstance(value, bool), where
        case other:
            raise AssertionError(f"{where}: {other}")


def check_answer(operation_model: Any, response_dict: Any, **_: Any) -> None:
    status, shape, name = response_dict["status_code"], operation_model.output_shape, operation_model.name
    if name.startswith("Invoke"):
        return
    if status < 300:
        wanted = operation_model.http["responseCode"]
        assert status == wanted or (name, status) == ("DeleteFunction", 204), f"{name}: {status}, not {wanted}"
        if shape is None or status == 204:
            assert response_dict["body"] == b"", name
        else:
            assert_fits(json.loads(response_dict["body"]), shape, name)
        return
    kind = response_dict["headers"]["x-amzn-errortype"]
    known = {one.name: one.metadata["error"]["httpStatusCode"] for one in operation_model.error_shapes}
    assert known.get(kind, status) == status, f"{name}: {kind} is {known.get(kind)}, not {status}"


@contextmanager
def client_of(url: str, **config: Any) -> Iterator[Any]:
    made = boto3.client(
        "lambda", endpoint_url=url, config=Config(retries={"total_max_attempts": 1}, **config), **KEYS
    )
    made.meta.events.register("before-parse.lambda", check_answer)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def deployed_to(folder: Path, **how: Any) -> Iterator[tuple[RunningFunctions, Any]]:
    """A local Lambda and its client. Changes take no time, but where that is what is tested."""
    with running_functions(folder, **{"settle": 0.0, "seed": 7, **how}) as served, client_of(served.url) as client:
        yield served, client


def create(client: Any, name: str, code: bytes, **more: Any) -> Any:
    said = {
        "Runtime": "provided.al2023",
        "Role": ROLE,
        "Handler": "any",
        "Timeout": 10,
        "MemorySize": 1024,
        "Architectures": [host_architecture()],
    }
    return client.create_function(**{"FunctionName": name, "Code": {"ZipFile": code}, **said, **more})


def invoke(client: Any, name: str, event: object = "hi", **more: Any) -> tuple[Any, str]:
    """What it answered, and which version did."""
    answer = client.invoke(FunctionName=name, Payload=json.dumps(event), **more)
    assert "FunctionError" not in answer, answer["Payload"].read()
    return json.load(answer["Payload"]), answer["ExecutedVersion"]


def refused(call: Any, **said: Any) -> tuple[str, int, str]:
    with pytest.raises(ClientError) as caught:
        call(**said)
    told = caught.value.response
    return told["Error"]["Code"], told["ResponseMetadata"]["HTTPStatusCode"], told["Error"]["Message"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningFunctions, Any]]:
    with deployed_to(tmp_path_factory.mktemp("functions")) as both:
        yield both


@pytest.fixture(scope="module")
def client(served: tuple[RunningFunctions, Any]) -> Any:
    return served[1]


def test_create_wait_invoke(tmp_path: Path) -> None:
    """By boto3's own waiters: a function is Pending for a while, and an update InProgress."""
    code = zipped(ANY, which="one")
    with deployed_to(tmp_path, settle=0.4) as (_, client):
        made = create(client, "waited", code, Environment={"Variables": {"MY_OWN": "x"}}, Description="d")
        assert made["State"] == "Pending" and made["StateReasonCode"] == "Creating"
        assert made["FunctionArn"] == "arn:aws:lambda:us-east-1:012345678912:function:waited"
        assert made["CodeSha256"] == base64.b64encode(hashlib.sha256(code).digest()).decode()
        assert made["CodeSize"] == len(code) and made["Version"] == "$LATEST"
        early = {"FunctionName": "waited", "Payload": b"{}"}
        assert refused(client.invoke, **early)[:2] == ("ResourceConflictException", 409)
        client.get_waiter("function_active_v2").wait(FunctionName="waited")
        assert invoke(client, "waited", READ) == ("one", "$LATEST")
        told = client.update_function_code(FunctionName="waited", ZipFile=zipped(ANY, which="two"))
        assert told["LastUpdateStatus"] == "InProgress"
        again = {"FunctionName": "waited", "Timeout": 5}
        kind, status, message = refused(client.update_function_configuration, **again)
        assert (kind, status) == ("ResourceConflictException", 409) and "update is in progress" in message
        client.get_waiter("function_updated_v2").wait(FunctionName="waited")
        version = client.publish_version(FunctionName="waited")["Version"]
        client.get_waiter("published_version_active").wait(FunctionName="waited", Qualifier=version)
        assert invoke(client, "waited", READ, Qualifier="1") == ("two", "1")


def test_what_a_function_is_told_of_itself(client: Any) -> None:
    create(
        client,
        "told",
        zipped(ANY),
        MemorySize=192,
        Environment={"Variables": {"MY_OWN": "x"}},
        EphemeralStorage={"Size": 600},
        Publish=True,
    )
    names = ["MY_OWN", "_HANDLER", "FUNCTION_NAME", "FUNCTION_VERSION", "FUNCTION_MEMORY_SIZE"]
    code = (
        f"import os; answer = [os.environ.get(n, os.environ.get('AWS_LAMBDA_' + n)) for n in {names}]"
        " + [headers['Lambda-Runtime-Invoked-Function-Arn'], os.environ['AWS_LAMBDA_LOG_STREAM_NAME']]"
    )
    (*found, arn, stream), version = invoke(client, "told", {"code": code}, Qualifier="1")
    assert found == ["x", "any", "told", "1", "192"] and version == "1"
    assert arn.endswith(":function:told:1") and "[1]" in stream
    answer = client.invoke(FunctionName="told:1", Payload=b"{}", LogType="Tail")
    assert "Version: 1\n" in base64.b64decode(answer["LogResult"]).decode()


def test_versions(client: Any) -> None:
    create(client, "versions", zipped(ANY, which="one"))
    first = client.publish_version(FunctionName="versions", Description="the first")
    assert (first["Version"], first["Description"]) == ("1", "the first")
    assert first["FunctionArn"].endswith(":versions:1")
    assert client.publish_version(FunctionName="versions")["Version"] == "1", "nothing has changed"
    client.update_function_configuration(FunctionName="versions", MemorySize=256)
    assert client.publish_version(FunctionName="versions")["Version"] == "2"
    told = client.update_function_code(FunctionName="versions", ZipFile=zipped(ANY, which="two"), Publish=True)
    assert told["Version"] == "3"
    listed = client.list_versions_by_function(FunctionName="versions")["Versions"]
    assert [one["Version"] for one in listed] == ["$LATEST", "1", "2", "3"]
    assert [one["MemorySize"] for one in listed] == [256, 1024, 256, 256]
    assert client.get_function_configuration(FunctionName="versions", Qualifier="1")["MemorySize"] == 1024
    with ThreadPoolExecutor(4) as pool:  # at the same time, each with its own sandboxes
        answers = [*pool.map(lambda n: invoke(client, f"versions:{n}", READ), ["1", "3"] * 4)]
    assert answers == [("one", "1"), ("two", "3")] * 4
    client.delete_function(FunctionName="versions", Qualifier="2")
    assert refused(client.get_function, FunctionName="versions:2")[:2] == ("ResourceNotFoundException", 404)
    client.update_function_configuration(FunctionName="versions", MemorySize=512)
    assert client.publish_version(FunctionName="versions")["Version"] == "4", "numbers are not used again"


def test_a_new_version_only_of_what_was_meant(client: Any) -> None:
    made = create(client, "meant", zipped())
    name = {"FunctionName": "meant"}
    kind, status, message = refused(client.publish_version, CodeSha256="bm8=", **name)
    assert (kind, status) == ("InvalidParameterValueException", 400) and made["CodeSha256"] in message
    before = made["RevisionId"]
    told = client.update_function_configuration(RevisionId=before, Timeout=7, **name)
    assert told["RevisionId"] != before and told["Timeout"] == 7
    for call, said in (
        (client.update_function_configuration, {"Timeout": 8}),
        (client.update_function_code, {"ZipFile": zipped()}),
        (client.publish_version, {}),
    ):
        assert refused(call, RevisionId=before, **name, **said)[:2] == ("PreconditionFailedException", 412)
    assert client.get_function_configuration(**name)["Timeout"] == 7
    published = client.publish_version(RevisionId=told["RevisionId"], CodeSha256=made["CodeSha256"], **name)
    assert published["Version"] == "1"


def test_a_dry_run_changes_nothing(client: Any) -> None:
    before = create(client, "dry", zipped())
    told = client.update_function_code(FunctionName="dry", ZipFile=zipped(ANY), DryRun=True)
    assert told["CodeSha256"] != before["CodeSha256"]
    assert client.get_function_configuration(FunctionName="dry")["RevisionId"] == before["RevisionId"]


def test_aliases(client: Any) -> None:
    create(client, "aliased", zipped(ANY, which="one"), Publish=True)
    name = {"FunctionName": "aliased"}
    made = client.create_alias(Name="live", FunctionVersion="1", **name)
    assert made["AliasArn"].endswith(":aliased:live") and "RoutingConfig" not in made
    kind, status, _ = refused(client.create_alias, Name="live", FunctionVersion="1", **name)
    assert (kind, status) == ("ResourceConflictException", 409)
    kind, status, _ = refused(client.create_alias, Name="other", FunctionVersion="9", **name)
    assert (kind, status) == ("ResourceNotFoundException", 404)
    assert refused(client.get_alias, Name="other", **name)[:2] == ("ResourceNotFoundException", 404)
    client.update_function_code(ZipFile=zipped(ANY, which="two"), Publish=True, **name)
    half = {"AdditionalVersionWeights": {"2": 0.5}}
    told = client.update_alias(Name="live", RoutingConfig=half, RevisionId=made["RevisionId"], **name)
    assert told["RoutingConfig"] == half
    stale = {"Name": "live", "Description": "x", "RevisionId": made["RevisionId"], **name}
    assert refused(client.update_alias, **stale)[:2] == ("PreconditionFailedException", 412)
    for wrong in ({"2": 1.5}, {"1": 0.5}, {"$LATEST": 0.1}, {"1": 0.1, "2": 0.1}):
        routing = {"AdditionalVersionWeights": wrong}
        kind, status, _ = refused(client.update_alias, Name="live", RoutingConfig=routing, **name)
        assert (kind, status) == ("InvalidParameterValueException", 400), wrong
    kind, status, message = refused(client.delete_function, Qualifier="2", **name)
    assert (kind, status) == ("ResourceConflictException", 409) and "live" in message
    promoted = {"FunctionVersion": "2", "RoutingConfig": {"AdditionalVersionWeights": {}}}
    told = client.update_alias(Name="live", **promoted, **name)
    assert told["FunctionVersion"] == "2" and "RoutingConfig" not in told
    assert invoke(client, "aliased:live", READ) == ("two", "2")
    client.create_alias(Name="old", FunctionVersion="1", **name)
    assert [one["Name"] for one in client.list_aliases(**name)["Aliases"]] == ["live", "old"]
    assert [one["Name"] for one in client.list_aliases(FunctionVersion="1", **name)["Aliases"]] == ["old"]
    assert client.get_function_configuration(Qualifier="old", **name)["Version"] == "1"
    client.delete_alias(Name="live", **name)
    assert refused(client.invoke, Qualifier="live", **name)[:2] == ("ResourceNotFoundException", 404)


def test_updated_code_answers_at_once(client: Any) -> None:
    create(client, "updated", zipped(ANY, which="one"))
    slow = {"code": "import time; time.sleep(0.4); answer = open('/var/task/which').read()"}
    with ThreadPoolExecutor(1) as pool:
        invoke(client, "updated", READ)
        under_way = pool.submit(invoke, client, "updated", slow)
        while not _under_way(client):
            pass
        client.update_function_code(FunctionName="updated", ZipFile=zipped(ANY, which="two"))
        assert invoke(client, "updated", READ)[0] == "two"
        assert under_way.result()[0] == "one", "what was under way is answered by the code that took it"
    told = client.update_function_configuration(
        FunctionName="updated", Environment={"Variables": {"MODE": "new"}}, MemorySize=320
    )
    assert told["Environment"] == {"Variables": {"MODE": "new"}}
    code = "import os; answer = os.environ['MODE'] + os.environ['AWS_LAMBDA_FUNCTION_MEMORY_SIZE']"
    assert invoke(client, "updated", {"code": code})[0] == "new320"


def _under_way(client: Any) -> bool:
    import urllib.request

    with urllib.request.urlopen(f"{client.meta.endpoint_url}/_/status", timeout=5) as response:
        state = json.load(response)
    return any(
        one["state"] == "busy"
        for running in state["running"]
        if running["function"] == "updated"
        for one in running["sandboxes"]
    )


def test_streams_and_events_reach_the_version_that_was_named(client: Any) -> None:
    create(client, "streamed", zipped(ANY, which="one"), Publish=True)
    said = {"FunctionName": "streamed", "Qualifier": "1", "Payload": json.dumps(READ)}
    answer = client.invoke_with_response_stream(**said)
    pieces = [event["PayloadChunk"]["Payload"] for event in answer["EventStream"] if "PayloadChunk" in event]
    assert (b"".join(pieces), answer["ExecutedVersion"]) == (b'"one"', "1")
    assert client.invoke(InvocationType="Event", **said)["StatusCode"] == 202
    assert client.invoke(InvocationType="DryRun", **said)["StatusCode"] == 204


def test_names_of_all_forms(client: Any) -> None:
    create(client, "named", zipped(), Publish=True)
    arn = "arn:aws:lambda:us-east-1:012345678912:function:named"
    for name in ("named", "012345678912:function:named", arn):
        assert invoke(client, name) == ("hi", "$LATEST")
        assert invoke(client, f"{name}:1") == ("hi", "1")
        assert client.get_function(FunctionName=name)["Configuration"]["FunctionName"] == "named"
    kind, status, _ = refused(client.get_function, FunctionName=f"{arn}:1", Qualifier="2")
    assert (kind, status) == ("InvalidParameterValueException", 400)


def test_deleted_is_gone(served: tuple[RunningFunctions, Any]) -> None:
    local, client = served
    code = zipped(ANY, which="to be deleted")
    create(client, "deleted", code, Publish=True)
    invoke(client, "deleted", READ)
    invoke(client, "deleted:1", READ)
    folder = local.local.folder
    assert (folder / "code" / hashlib.sha256(code).hexdigest() / "bootstrap").exists()
    client.delete_function(FunctionName="deleted")
    for call in (client.get_function, client.invoke, client.delete_function, client.publish_version):
        assert refused(call, FunctionName="deleted")[:2] == ("ResourceNotFoundException", 404)
    assert not (folder / "functions" / "deleted.json").exists()
    _soon(lambda: not (folder / "code" / hashlib.sha256(code).hexdigest()).exists())
    assert create(client, "deleted", code)["Version"] == "$LATEST", "the name is free again"


def _soon(done: Any) -> None:
    import time

    end = time.monotonic() + 5
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_pages(client: Any) -> None:
    for number in range(5):
        create(client, f"page-{number}", zipped(), Publish=True)
    for page_size in (1, 2, 50):
        pages = client.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": page_size})
        found = [one["FunctionName"] for page in pages for one in page["Functions"]]
        assert found == sorted(found) and len(found) == len({*found})
        assert {f"page-{number}" for number in range(5)} <= {*found}
    every = client.get_paginator("list_functions").paginate(
        FunctionVersion="ALL", PaginationConfig={"PageSize": 3}
    )
    arns = [one["FunctionArn"] for page in every for one in page["Functions"]]
    assert len(arns) == len({*arns}) and any(arn.endswith(":page-1:1") for arn in arns)
    first = client.list_functions(MaxItems=1)
    client.delete_function(FunctionName="page-0")
    assert client.list_functions(Marker=first["NextMarker"])["Functions"]
    assert refused(client.list_functions, Marker="?")[:2] == ("InvalidParameterValueException", 400)


def test_tags(client: Any) -> None:
    arn = create(client, "tagged", zipped(), Tags={"a": "1"})["FunctionArn"]
    client.tag_resource(Resource=arn, Tags={"b": "2", "c": "ü"})
    client.untag_resource(Resource=arn, TagKeys=["a", "b"])
    assert client.list_tags(Resource=arn)["Tags"] == {"c": "ü"}
    assert client.get_function(FunctionName="tagged")["Tags"] == {"c": "ü"}
    wrong = {"Resource": arn, "Tags": {"aws:x": "y"}}
    assert refused(client.tag_resource, **wrong)[:2] == ("InvalidParameterValueException", 400)


def test_permissions(client: Any) -> None:
    create(client, "policied", zipped(), Publish=True)
    name = {"FunctionName": "policied"}
    assert refused(client.get_policy, **name)[:2] == ("ResourceNotFoundException", 404)
    said = {"StatementId": "s3", "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com"}
    told = client.add_permission(SourceArn="arn:aws:s3:::b", SourceAccount="012345678912", **said, **name)
    assert json.loads(told["Statement"]) == {
        "Sid": "s3",
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "lambda:InvokeFunction",
        "Resource": "arn:aws:lambda:us-east-1:012345678912:function:policied",
        "Condition": {
            "StringEquals": {"AWS:SourceAccount": "012345678912"},
            "ArnLike": {"AWS:SourceArn": "arn:aws:s3:::b"},
        },
    }
    assert refused(client.add_permission, **said, **name)[:2] == ("ResourceConflictException", 409)
    client.add_permission(**{**said, "StatementId": "account", "Principal": "111122223333"}, Qualifier="1", **name)
    policy = client.get_policy(**name)
    assert [one["Sid"] for one in json.loads(policy["Policy"])["Statement"]] == ["s3"]
    (other,) = json.loads(client.get_policy(Qualifier="1", **name)["Policy"])["Statement"]
    assert other["Principal"] == {"AWS": "arn:aws:iam::111122223333:root"} and other["Resource"].endswith(":1")
    stale = {"StatementId": "s3", "RevisionId": "no", **name}
    assert refused(client.remove_permission, **stale)[:2] == ("PreconditionFailedException", 412)
    client.remove_permission(StatementId="s3", RevisionId=policy["RevisionId"], **name)
    assert refused(client.get_policy, **name)[:2] == ("ResourceNotFoundException", 404)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"Role": "arn:aws:iam::1:role/any"}, "Role"),
        ({"Runtime": "cobol"}, "Runtime"),
        ({"Environment": {"Variables": {"AWS_REGION": "x"}}}, "AWS_REGION"),
        ({"Environment": {"Variables": {"LONG": "x" * 4100}}}, "4KB"),
        ({"Architectures": ["arm64" if host_architecture() == "x86_64" else "x86_64"]}, "this machine is"),
        ({"Layers": ["arn:aws:lambda:us-east-1:012345678912:layer:any:1"]}, "Layers"),
        ({"PackageType": "Image", "Code": {"ImageUri": "x/y:z"}}, "coldpress serve image:NAME"),
        ({"Code": {"ImageUri": "x/y:z"}}, "ImageUri x/y:z"),
        ({"Code": {"S3Bucket": "bucket", "S3Key": "key"}}, "s3://bucket/key: no S3 is known here"),
        ({"Code": {"ZipFile": b"no zip"}}, "Could not unzip"),
        ({"Code": {"ZipFile": zipped(FUNCTIONS / "sleeper")}}, "bootstrap"),
        ({"Tags": {"aws:x": "y"}}, "aws:x"),
    ],
)
def test_what_cannot_be_made(client: Any, said: dict[str, Any], named: str) -> None:
    code = {"Code": {"ZipFile": zipped()}, "FunctionName": "never", "Role": ROLE, "Handler": "any"}
    known = {"Runtime": "provided.al2023", "Architectures": [host_architecture()]}
    kind, status, message = refused(client.create_function, **{**code, **known, **said})
    assert (kind, status) == ("InvalidParameterValueException", 400)
    assert named in message
    assert refused(client.get_function, FunctionName="never")[0] == "ResourceNotFoundException"


def test_code_that_lies_in_an_s3(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """moto's, by its real sockets."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
        s3 = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **KEYS)
        s3.create_bucket(Bucket="code")
        s3.put_object(Bucket="code", Key="a folder/function.zip", Body=zipped(ANY, which="by S3"))
        s3.close()
        where = {"S3Bucket": "code", "S3Key": "a folder/function.zip"}
        create(client, "by-s3", zipped(), Code=where)
        assert invoke(client, "by-s3", READ)[0] == "by S3"
        kind, status, message = refused(
            client.update_function_code, FunctionName="by-s3", **{**where, "S3Key": "no"}
        )
        assert (kind, status) == ("InvalidParameterValueException", 400)
        assert "NoSuchKey" in message and "s3://code/no" in message
    finally:
        server.stop()


def test_what_boto3_itself_would_not_send(served: tuple[RunningFunctions, Any]) -> None:
    local, _ = served
    with client_of(local.url, parameter_validation=False) as client:
        for said, named in (
            ({"MemorySize": 64}, "from 128 to 10240"),
            ({"Timeout": 901}, "from 1 to 900"),
            ({"EphemeralStorage": {"Size": 100}}, "from 512 to 10240"),
            ({"Handler": None, "Role": None}, "Role is missing"),
            ({"SnapStart": {"ApplyOn": "Always"}}, "PublishedVersions"),
        ):
            with pytest.raises(ClientError, match=named) as caught:
                create(client, "never", zipped(), **said)
            assert caught.value.response["Error"]["Code"] == "InvalidParameterValueException"
        assert refused(client.get_function, FunctionName="a b")[:2] == ("ValidationException", 400)


def test_what_exists_already(client: Any) -> None:
    create(client, "twice", zipped())
    with pytest.raises(client.exceptions.ResourceConflictException, match="already exist"):
        create(client, "twice", zipped())


def test_what_is_too_large(served: tuple[RunningFunctions, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    local, client = served
    create(client, "large", zipped())
    much = {"FunctionName": "large", "ZipFile": b"\0" * 53_000_000}
    kind, status, message = refused(client.update_function_code, **much)
    assert (kind, status) == ("RequestTooLargeException", 413) and "70167211" in message
    assert "UpdateFunctionCode" in message
    monkeypatch.setattr(local.local.plane, "most_code", 2000)
    kind, status, _ = refused(client.update_function_code, FunctionName="large", ZipFile=zipped(ANY))
    assert (kind, status) == ("CodeStorageExceededException", 400)
    assert refused(client.publish_version, FunctionName="large")[0] == "CodeStorageExceededException"
    limits = client.get_account_settings()
    assert limits["AccountLimit"]["TotalCodeSize"] == 2000
    assert limits["AccountUsage"]["FunctionCount"] == len(local.local.plane.store.functions)


def test_web_pages_may_not_deploy(served: tuple[RunningFunctions, Any]) -> None:
    import http.client
    from contextlib import closing

    address = served[0].url.removeprefix("http://")
    path = "/2015-03-31/functions"
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        with closing(http.client.HTTPConnection(address, timeout=5)) as connection:
            connection.request("GET", path, headers=headers)
            with connection.getresponse() as response:
                assert response.status == 403
                response.read()


def test_nothing_that_is_said_is_a_fault(served: tuple[RunningFunctions, Any]) -> None:
    """Each member of each operation with values of the wrong kind: taken or refused, never a fault of ours."""
    import http.client
    from contextlib import closing
    from itertools import product

    local, client = served
    create(client, "odd", zipped(), Publish=True)
    client.create_alias(FunctionName="odd", Name="live", FunctionVersion="1")
    good: dict[str, dict[str, Any]] = {
        "CreateFunction": {
            "FunctionName": "odd-too",
            "Role": ROLE,
            "Runtime": "python3.13",
            "Handler": "h",
            "Code": {"ZipFile": "eA=="},
            "Architectures": [host_architecture()],
        },
        "AddPermission": {"StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "*"},
    }
    kinds: list[Any] = [1, -1, "\0", "\ud800", "x" * 3000, [1], [[]], {"a": [None]}, True, 1e308]
    kinds += [{"Variables": {"NAME": value}} for value in (1, "\0", "\ud800", None)]
    filled = {"FunctionName": "odd", "Name": "live", "StatementId": "s", "UUID": "u"}
    filled["Resource"] = "arn:aws:lambda:us-east-1:012345678912:function:odd"
    faults, asked = [], 0
    with closing(http.client.HTTPConnection(local.url.removeprefix("http://"), timeout=20)) as connection:
        for route in ROUTES:
            if route.name == "DeleteFunction":
                continue
            shape = client.meta.service_model.operation_model(route.name).input_shape
            bodies: list[Any] = [[], 1, "x", None]
            bodies += [{**good.get(route.name, {}), name: kind} for name in shape.members for kind in kinds]
            sent = bodies if route.method in ("POST", "PUT") else [{}]
            for query, body in product(("", "?Qualifier=live"), sent):
                connection.request(route.method, f"{route.path.format(**filled)}{query}", json.dumps(body))
                with connection.getresponse() as response:
                    told = response.read()
                asked += 1
                if response.status >= 500:
                    faults.append((route.name, body, told))
    assert not faults and asked > 1000


def test_twenty_functions_at_once(client: Any) -> None:
    codes = [zipped(ANY, which=str(number)) for number in range(20)]
    with ThreadPoolExecutor(10) as pool:
        assert len([*pool.map(lambda n: create(client, f"many-{n}", codes[n]), range(20))]) == 20
        answers = [*pool.map(lambda n: invoke(client, f"many-{n}", READ)[0], range(20))]
    assert answers == [str(number) for number in range(20)]


def test_paths_are_the_models_own(client: Any) -> None:
    for route in ROUTES:
        http = client.meta.service_model.operation_model(route.name).http
        assert (route.method, route.path) == (http["method"], http["requestUri"].rstrip("/"))
        assert route.status == http["responseCode"] or route.name == "DeleteFunction"


def test_the_model_is_really_asked(client: Any) -> None:
    shape = client.meta.service_model.operation_model("GetFunctionUrlConfig").output_shape
    good = {
        "FunctionUrl": "u",
        "FunctionArn": "a",
        "AuthType": "NONE",
        "CreationTime": "t",
        "LastModifiedTime": "t",
    }
    assert_fits(good, shape, "good")
    for wrong in ({"Unknown": 1}, {"AuthType": "SOME"}, {"Cors": {"MaxAge": "1"}}, {"FunctionUrl": 1}):
        with pytest.raises(AssertionError):
            assert_fits({**good, **wrong}, shape, "wrong")
    with pytest.raises(AssertionError, match="missing"):
        assert_fits({"FunctionUrl": "u"}, shape, "lacking")
