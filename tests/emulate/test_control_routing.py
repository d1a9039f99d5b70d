"""Which sandboxes answer: by weight, within limits, kept ready, and by URLs."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from test_control import ANY, READ, client_of, create, deployed_to, invoke, refused, zipped

from coldpress.emulate.control.plane import needed
from coldpress.emulate.control.store import Function
from coldpress.emulate.front.signatures import Credentials
from coldpress.emulate.serving import RunningFunctions, running_functions

SLEEP = {"code": "import time; time.sleep(0.5); answer = 1"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningFunctions, Any]]:
    with deployed_to(tmp_path_factory.mktemp("routed")) as both:
        yield both


@pytest.fixture(scope="module")
def client(served: tuple[RunningFunctions, Any]) -> Any:
    return served[1]


def two_versions(client: Any, name: str) -> None:
    create(client, name, zipped(ANY, which="one"), Publish=True)
    client.update_function_code(FunctionName=name, ZipFile=zipped(ANY, which="two"), Publish=True)


def ask(url: str, body: bytes = b"", headers: dict[str, str] | None = None) -> tuple[int, Any]:
    request = urllib.request.Request(url, data=body or None, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_weights_are_kept(served: tuple[RunningFunctions, Any]) -> None:
    """300 requests through sockets, 10,000 at the one who chooses; the seed is fixed."""
    local, client = served
    create(client, "weighted", zipped(), Publish=True)
    client.update_function_configuration(FunctionName="weighted", Timeout=9)
    client.publish_version(FunctionName="weighted")
    weights = {"AdditionalVersionWeights": {"2": 0.3}}
    client.create_alias(FunctionName="weighted", Name="live", FunctionVersion="1", RoutingConfig=weights)
    answered = [invoke(client, "weighted:live")[1] for _ in range(300)]
    assert {*answered} == {"1", "2"} and 0.2 < answered.count("2") / 300 < 0.4
    plane = local.local.plane
    drawn = [plane.route(plane.function("weighted"), "live") for _ in range(10_000)]
    assert 0.28 < drawn.count("2") / 10_000 < 0.32
    none = {"FunctionVersion": "1", "RoutingConfig": {"AdditionalVersionWeights": {}}}
    client.update_alias(FunctionName="weighted", Name="live", **none)
    assert {invoke(client, "weighted:live")[1] for _ in range(30)} == {"1"}, "rolled back"


def test_reserved_concurrency_is_the_whole_functions(client: Any) -> None:
    two_versions(client, "reserved")
    name = {"FunctionName": "reserved"}
    assert "ReservedConcurrentExecutions" not in client.get_function_concurrency(**name)
    assert (
        client.put_function_concurrency(ReservedConcurrentExecutions=2, **name)["ReservedConcurrentExecutions"]
        == 2
    )
    assert client.get_function(**name)["Concurrency"] == {"ReservedConcurrentExecutions": 2}

    def one(version: str) -> Any:
        try:
            return invoke(client, f"reserved:{version}", SLEEP)[0]
        except client.exceptions.TooManyRequestsException as throttled:
            return throttled.response["Reason"]

    with ThreadPoolExecutor(4) as pool:
        outcomes = [*pool.map(one, ["1", "2", "1", "2"])]
    assert outcomes.count(1) == 2
    assert outcomes.count("ReservedFunctionConcurrentInvocationLimitExceeded") == 2
    client.put_function_concurrency(ReservedConcurrentExecutions=0, **name)
    assert refused(client.invoke, **name)[:2] == ("TooManyRequestsException", 429)
    client.delete_function_concurrency(**name)
    assert invoke(client, "reserved", READ)[0] == "two"
    too_many = {"ReservedConcurrentExecutions": 950, **name}
    kind, status, message = refused(client.put_function_concurrency, **too_many)
    assert (kind, status) == ("InvalidParameterValueException", 400) and "[100]" in message


def test_provisioned_ones_are_really_ready(served: tuple[RunningFunctions, Any]) -> None:
    local, client = served
    two_versions(client, "ahead")
    client.create_alias(FunctionName="ahead", Name="live", FunctionVersion="1")
    live = {"FunctionName": "ahead", "Qualifier": "live"}
    kind, status, _ = refused(client.get_provisioned_concurrency_config, **live)
    assert (kind, status) == ("ProvisionedConcurrencyConfigNotFoundException", 404)
    latest = {"FunctionName": "ahead", "Qualifier": "$LATEST", "ProvisionedConcurrentExecutions": 1}
    assert refused(client.put_provisioned_concurrency_config, **latest)[0] == "InvalidParameterValueException"
    told = client.put_provisioned_concurrency_config(ProvisionedConcurrentExecutions=2, **live)
    assert told["Status"] == "IN_PROGRESS" and told["RequestedProvisionedConcurrentExecutions"] == 2
    told = ready(client, live)
    assert (told["Status"], told["AvailableProvisionedConcurrentExecutions"]) == ("READY", 2)
    fleet = local.local.plane.fleets.served["ahead", "1"].fleet
    assert [one.kind for one in fleet.sandboxes.values()] == ["provisioned-concurrency"] * 2
    kind_of = {"code": "import os; answer = os.environ['AWS_LAMBDA_INITIALIZATION_TYPE']"}
    assert invoke(client, "ahead:live", kind_of) == ("provisioned-concurrency", "1")
    client.update_alias(FunctionName="ahead", Name="live", FunctionVersion="2")
    assert ready(client, live)["Status"] == "READY"
    assert invoke(client, "ahead:live", kind_of) == ("provisioned-concurrency", "2")
    assert fleet.allocated == 0, "those of the version before have ended"
    version = {"FunctionName": "ahead", "Qualifier": "2", "ProvisionedConcurrentExecutions": 1}
    assert refused(client.put_provisioned_concurrency_config, **version)[0] == "InvalidParameterValueException"
    (listed,) = client.list_provisioned_concurrency_configs(FunctionName="ahead")["ProvisionedConcurrencyConfigs"]
    assert listed["FunctionArn"].endswith(":ahead:live") and listed["Status"] == "READY"
    client.put_provisioned_concurrency_config(ProvisionedConcurrentExecutions=1, **live)
    assert local.local.plane.fleets.served["ahead", "2"].fleet.allocated == 1 or ready(client, live)
    client.delete_provisioned_concurrency_config(**live)
    assert client.list_provisioned_concurrency_configs(FunctionName="ahead")["ProvisionedConcurrencyConfigs"] == []
    assert invoke(client, "ahead:live", READ) == ("two", "2")


def ready(client: Any, which: dict[str, Any]) -> Any:
    end = time.monotonic() + 10
    while (told := client.get_provisioned_concurrency_config(**which))["Status"] == "IN_PROGRESS":
        assert time.monotonic() < end
        time.sleep(0.02)
    return told


def test_provisioned_ones_that_cannot_start(client: Any) -> None:
    create(
        client,
        "broken",
        zipped(ANY),
        Publish=True,
        Environment={"Variables": {"AT_INIT": "import os; os._exit(1)"}},
    )
    version = {"FunctionName": "broken", "Qualifier": "1"}
    client.put_provisioned_concurrency_config(ProvisionedConcurrentExecutions=1, **version)
    told = ready(client, version)
    assert (told["Status"], told["StatusReason"]) == ("FAILED", "FUNCTION_ERROR_INIT_FAILURE")


def test_deleted_while_sandboxes_start(served: tuple[RunningFunctions, Any]) -> None:
    local, client = served
    create(client, "short", zipped(ANY), Publish=True)
    version = {"FunctionName": "short", "Qualifier": "1"}
    client.put_provisioned_concurrency_config(ProvisionedConcurrentExecutions=2, **version)
    client.delete_function(FunctionName="short")
    fleets = local.local.plane.fleets
    end = time.monotonic() + 5
    while fleets.starting or fleets.ending:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert not [key for key in fleets.served if key[0] == "short"]


def test_updates_lose_no_request(client: Any) -> None:
    """Three ask without a pause while the code changes five times: all are answered."""
    create(client, "busy", zipped(ANY, which="0"))
    over = threading.Event()

    def ask_on(_: int) -> list[str]:
        heard: list[str] = []
        while not over.is_set():
            heard.append(invoke(client, "busy", READ)[0])
        heard.append(invoke(client, "busy", READ)[0])  # for certain after the last change
        return heard

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask_on, number) for number in range(3)]
        try:
            for number in range(1, 6):
                time.sleep(0.1)
                client.update_function_code(FunctionName="busy", ZipFile=zipped(ANY, which=str(number)))
        finally:
            over.set()
        for one in asking:
            heard = one.result()
            assert heard == sorted(heard) and heard[-1] == "5", "no old code after the new"


def test_changed_while_sandboxes_start(client: Any) -> None:
    """Asked for and changed at the same moment: the answer is of one of both, and then of the new one."""
    create(client, "moving", zipped(ANY, which="0"))
    with ThreadPoolExecutor(3) as pool:
        for number in range(1, 4):
            asked = [pool.submit(invoke, client, "moving", READ) for _ in range(2)]
            client.update_function_code(FunctionName="moving", ZipFile=zipped(ANY, which=str(number)))
            assert {one.result()[0] for one in asked} <= {str(number - 1), str(number)}
            assert invoke(client, "moving", READ)[0] == str(number)


def test_each_version_of_an_alias_gets_its_part() -> None:
    function = Function("parts", {"1": {}, "2": {}}, provisioned={"live": {"requested": 10}})
    alias: dict[str, Any] = {"FunctionVersion": "1"}
    function.aliases["live"] = alias
    assert needed(function) == {"1": 10}
    for weight, parts in (
        (0.1, {"1": 9, "2": 1}),
        (0.3, {"1": 7, "2": 3}),
        (0.01, {"1": 10, "2": 1}),
        (1.0, {"2": 10}),
    ):
        alias["RoutingConfig"] = {"AdditionalVersionWeights": {"2": weight}}
        assert needed(function) == parts


def test_a_url_for_everybody(client: Any) -> None:
    """On an alias, with the two permissions that Lambda wants; without either of them it is closed."""
    two_versions(client, "open")
    name = {"FunctionName": "open", "Qualifier": "live"}
    client.create_alias(FunctionName="open", Name="live", FunctionVersion="1")
    assert refused(client.get_function_url_config, **name)[:2] == ("ResourceNotFoundException", 404)
    made = client.create_function_url_config(AuthType="NONE", **name)
    url = made["FunctionUrl"]
    assert url.startswith(client.meta.endpoint_url) and made["InvokeMode"] == "BUFFERED"
    assert refused(client.create_function_url_config, AuthType="NONE", **name)[:2] == (
        "ResourceConflictException",
        409,
    )
    status, said = ask(url)
    assert status == 403 and "lambda:InvokeFunctionUrl" in said["Message"]
    everybody = {"Principal": "*", **name}
    client.add_permission(
        StatementId="url", Action="lambda:InvokeFunctionUrl", FunctionUrlAuthType="NONE", **everybody
    )
    status, said = ask(url)
    assert status == 403 and "InvokedViaFunctionUrl" in said["Message"]
    client.add_permission(
        StatementId="invoke", Action="lambda:InvokeFunction", InvokedViaFunctionUrl=True, **everybody
    )
    status, event = ask(f"{url}some/path?a=1")
    assert status == 200 and event["rawPath"] == "/some/path" and event["rawQueryString"] == "a=1"
    assert event["requestContext"]["accountId"] == "anonymous"
    text = {"Content-Type": "text/plain"}
    assert ask(url, READ["code"].encode(), text) == (200, "one")
    client.update_alias(FunctionName="open", Name="live", FunctionVersion="2")
    assert ask(url, READ["code"].encode(), text) == (200, "two")
    url_id = url.rstrip("/").rpartition("/")[2]
    by_name = {"Host": f"{url_id}.lambda-url.us-east-1.on.aws"}
    assert ask(f"{client.meta.endpoint_url}/x", headers=by_name)[1]["rawPath"] == "/x"
    told = client.update_function_url_config(Cors={"AllowOrigins": ["https://app.example"], "MaxAge": 5}, **name)
    assert told["Cors"]["MaxAge"] == 5 and told["FunctionUrl"] == url
    preflight = urllib.request.Request(url, headers={"Origin": "https://app.example"}, method="OPTIONS")
    with urllib.request.urlopen(preflight, timeout=5) as response:
        assert response.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert response.headers["Access-Control-Max-Age"] == "5"
    client.create_function_url_config(FunctionName="open", AuthType="AWS_IAM")
    listed = client.list_function_url_configs(FunctionName="open")["FunctionUrlConfigs"]
    assert [one["AuthType"] for one in listed] == ["AWS_IAM", "NONE"]
    client.delete_function_url_config(**name)
    assert ask(url)[0] == 404


def test_a_url_for_who_signs(client: Any) -> None:
    create(client, "signed", zipped(ANY))
    url = client.create_function_url_config(FunctionName="signed", AuthType="AWS_IAM")["FunctionUrl"]
    assert ask(url)[0] == 403
    for secret, wanted in (("local", 200), ("wrong", 403)):
        request = AWSRequest("GET", f"{url}a%20path?b=2", headers={})
        SigV4Auth(BotoCredentials("local", secret), "lambda", "us-east-1").add_auth(request)
        status, event = ask(f"{url}a%20path?b=2", headers=dict(request.headers))
        assert status == wanted
        if status == 200:
            assert event["rawPath"] == "/a path" and event["requestContext"]["accountId"] == "012345678912"


def test_a_url_that_streams(client: Any) -> None:
    create(client, "streams", zipped(ANY))
    name = {"FunctionName": "streams"}
    told = client.create_function_url_config(AuthType="AWS_IAM", InvokeMode="RESPONSE_STREAM", **name)
    assert told["InvokeMode"] == "RESPONSE_STREAM"
    assert client.get_function_url_config(**name)["InvokeMode"] == "RESPONSE_STREAM"


def test_calls_may_have_to_be_signed(tmp_path: Path) -> None:
    credentials = Credentials("local", "local")
    with running_functions(tmp_path, signed=True, credentials=credentials, settle=0.0) as served:
        with client_of(served.url) as client:
            create(client, "guarded", zipped())
            assert invoke(client, "guarded")[0] == "hi"
            assert client.get_function(FunctionName="arn:aws:lambda:us-east-1:012345678912:function:guarded")
        assert ask(f"{served.url}/2015-03-31/functions")[0] == 403


def test_events_wait_for_the_code_that_is_there_then(tmp_path: Path) -> None:
    """An event fails and is tried again after the update: the new code answers it."""
    with deployed_to(tmp_path) as (served, client):
        create(client, "later", zipped(ANY, which="bad"))
        code = "assert open('/var/task/which').read() == 'good'"
        client.invoke(FunctionName="later", InvocationType="Event", Payload=json.dumps({"code": code}))
        end = time.monotonic() + 5
        while not _errors(served):
            assert time.monotonic() < end
            time.sleep(0.01)
        client.update_function_code(FunctionName="later", ZipFile=zipped(ANY, which="good"))
        while not served.local.plane.fleets.served.get(("later", "$LATEST")):
            assert time.monotonic() < end
            time.sleep(0.01)
        fleet = served.local.plane.fleets.served["later", "$LATEST"].fleet
        while not fleet.ledger.totals.requests:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert fleet.ledger.totals.errors == 0
    assert not (tmp_path / "dead-letters.jsonl").exists()


def _errors(served: RunningFunctions) -> int:
    running = served.local.plane.fleets.served.get(("later", "$LATEST"))
    return running.fleet.ledger.totals.errors if running else 0
