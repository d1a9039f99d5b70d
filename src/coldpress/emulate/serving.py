"""From what a person names to a running local Lambda."""

import asyncio
import gc
import os
import resource
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from coldpress.artifact import MANIFEST, Artifact
from coldpress.emulate.control.server import Functions
from coldpress.emulate.front.function_url import UrlSettings
from coldpress.emulate.front.server import Address, Local
from coldpress.emulate.front.signatures import Credentials
from coldpress.emulate.queues.batching import Batching
from coldpress.emulate.queues.fed import FedFleet
from coldpress.emulate.sandbox import base_python, interpreter_for
from coldpress.emulate.sandboxes.fleet import Fleet
from coldpress.emulate.sandboxes.logbook import Entry
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.world.namespaces import Starter, World
from coldpress.emulate.world.podman import Podman
from coldpress.errors import ColdpressError, UsageError
from coldpress.package.libraries import host_architecture


@dataclass(frozen=True)
class Target:
    """What is served: a folder with a bootstrap, or an image, and what is known of it."""

    root: Path
    name: str
    python: str
    is_artifact: bool
    facts: dict[str, object]
    image: str = ""


@dataclass(frozen=True)
class Options:
    """How it is served, beside the function's own settings."""

    address: Address = field(default_factory=Address)
    url: UrlSettings = field(default_factory=UrlSettings)
    network: bool = False
    tmp_mb: int = 512
    layers: Path | None = None
    dead_letters: Path = Path("dead-letters.jsonl")
    #: by URL or ARN, and how their messages come
    queues: tuple[str, ...] = ()
    batching: Batching = field(default_factory=Batching)


def find_target(named: str | Path) -> Target:
    """An artifact, any folder with an executable `bootstrap`, an OCI layout, or image:NAME."""
    if str(named).startswith("image:"):
        return _image_target(str(named).removeprefix("image:"))
    folder = Path(named)
    if (folder / "oci-layout").is_file():
        return _image_target(str(folder))
    if (folder / MANIFEST).exists():
        artifact = Artifact.open(folder)
        arch, here = str(artifact.manifest.get("arch", host_architecture())), host_architecture()
        if arch != here:
            raise UsageError(
                f"{folder} is for {arch} and this machine is {here}: build it with --arch {here} to serve it, "
                f"or ask it as that CPU with: coldpress verify {folder} --cpu {arch}"
            )
        models: dict[str, Any] = artifact.manifest.get("models", {})
        tasks = {str(model.get("task")) for model in models.values()}
        task = "custom" if "custom" in artifact.manifest else next(iter(tasks), None)
        facts: dict[str, object] = {"task": task, "engine": artifact.manifest.get("engine"), "package": "folder"}
        return Target(artifact.function_folder.resolve(), artifact.name, artifact.python, True, facts)
    bootstrap = folder / "bootstrap"
    if not bootstrap.is_file():
        raise UsageError(
            f"{folder} holds neither a {MANIFEST} nor a bootstrap: name an artifact "
            f"(coldpress build MODEL --out {folder}) or a folder with an executable bootstrap"
        )
    if not os.access(bootstrap, os.X_OK):
        raise UsageError(f"{bootstrap} is not executable: chmod +x {bootstrap}")
    return Target(folder.resolve(), "function", "any", False, {"task": None, "engine": None, "package": "folder"})


def _image_target(image: str) -> Target:
    facts: dict[str, object] = {"task": None, "engine": None, "package": "image"}
    return Target(Path(), "function", "any", False, facts, image)


def make_starter(target: Target, settings: Settings, options: Options) -> Starter:
    _take_descriptors()
    if target.image:
        if options.layers:
            raise UsageError("--layers is for functions in folders: an image brings its own /opt")
        shares = {"memory_mb": settings.memory_mb, "tmp_mb": options.tmp_mb}
        return Podman(target.image, network=options.network, **shares)
    python = Path(interpreter_for(target.python) if target.is_artifact else base_python())
    return World(
        target.root,
        python,
        pass_python=target.is_artifact,
        memory_mb=settings.memory_mb,
        tmp_mb=options.tmp_mb,
        network=options.network,
        layers=options.layers,
    )


def _take_descriptors() -> None:
    """As many as may be: a sandbox takes half a dozen; its own limit is set inside."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def local_credentials() -> Credentials:
    """What requests to a signed URL must be signed with: this shell's own keys, or `local` and `local`."""
    return Credentials(
        os.environ.get("AWS_ACCESS_KEY_ID", "local"), os.environ.get("AWS_SECRET_ACCESS_KEY", "local")
    )


def make_local(starter: Starter, target: Target, settings: Settings, options: Options) -> Local:
    settings = replace(settings, arch=host_architecture())
    facts = {**target.facts, "streaming": options.url.streams}
    fleet = Fleet(settings, starter)
    if options.queues:
        most = min(options.batching.concurrency, settings.concurrency * settings.at_once)
        fleet = FedFleet(settings, starter, options.queues, replace(options.batching, concurrency=most))
    return Local(fleet, options.url, options.dead_letters, options.address, facts)


class _Runs(Protocol):
    async def run(self, started: Callable[[str], None]) -> None: ...


_Serves = TypeVar("_Serves", bound=_Runs)
_Made = TypeVar("_Made")


def run(local: Callable[[], _Serves], started: Callable[[_Serves, str], None]) -> None:
    """Serve in this thread until a signal comes."""
    _take_descriptors()

    async def main() -> None:
        made = local()
        await made.run(lambda url: started(made, url))

    gc.freeze()  # what was loaded until here stays: no need to look through it again and again while serving
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())


@dataclass
class Running:
    """A local Lambda in a thread of this process."""

    url: str
    local: Local = field(repr=False)
    log: list[Entry] = field(repr=False)


@contextmanager
def running(
    folder: str | Path, settings: Settings | None = None, options: Options | None = None
) -> Iterator[Running]:
    """Serve while the block runs, on any free port."""
    target = find_target(folder)
    settings = settings or Settings(name=target.name)
    options = options or Options(address=Address(port=0))
    starter = make_starter(target, settings, options)

    async def main(started: Callable[[Running], None], stop: asyncio.Event) -> None:
        local = make_local(starter, target, settings, options)
        log: list[Entry] = []
        local.fleet.log.listeners.append(log.extend)
        await local.run(lambda url: started(Running(url, local, log)), stop)

    with _in_a_thread(main) as made:
        yield made


@dataclass
class RunningFunctions:
    """A local Lambda that functions are deployed to, in a thread of this process."""

    url: str
    local: Functions = field(repr=False)
    #: of all functions, each line with its function's name
    log: list[tuple[str, Entry]] = field(repr=False)


@contextmanager
def running_functions(folder: str | Path, **how: Any) -> Iterator[RunningFunctions]:
    """The same for functions that are deployed by the API and kept in `folder`; `how` are Functions' fields."""
    _take_descriptors()

    async def main(started: Callable[[RunningFunctions], None], stop: asyncio.Event) -> None:
        local = Functions(Path(folder), **{"address": Address(port=0), **how})
        log: list[tuple[str, Entry]] = []

        def listening(url: str) -> None:
            local.plane.fleets.log_listeners.append(lambda name, lines: log.extend((name, one) for one in lines))
            started(RunningFunctions(url, local, log))

        await local.run(listening, stop)

    with _in_a_thread(main) as made:
        yield made


@contextmanager
def _in_a_thread(
    main: Callable[[Callable[[_Made], None], asyncio.Event], Coroutine[Any, Any, None]],
) -> Iterator[_Made]:
    """What `main` says it has started, until the block ends."""
    ready = threading.Event()
    state: dict[str, Any] = {}

    def started(made: _Made) -> None:
        state["running"] = made
        ready.set()

    async def begin() -> None:
        state["loop"] = asyncio.get_running_loop()
        state["stop"] = asyncio.Event()
        await main(started, state["stop"])

    def serve() -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(begin())
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits
            state["error"] = error
        finally:
            ready.set()

    thread = threading.Thread(target=serve, name="local-lambda")
    thread.start()
    ready.wait()
    try:
        if "running" not in state:
            raise state.get("error") or ColdpressError("the local Lambda did not start")
        yield state["running"]
    finally:
        if "stop" in state and thread.is_alive():
            state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join()
    if "error" in state:
        raise state["error"]


def _loop_factory() -> "Callable[[], asyncio.AbstractEventLoop] | None":
    """uvloop where it is installed: half the time for each event."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop
