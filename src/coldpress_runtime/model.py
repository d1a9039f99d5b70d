"""One model of a function: its task.json, its tokenizer, and the engine's session on its weights."""

from _thread import allocate_lock, start_new_thread
from posix import putenv

from coldpress_runtime import trace
from coldpress_runtime.engines import load_engine
from coldpress_runtime.faults import LoadError
from coldpress_runtime.jsontext import loads
from coldpress_runtime.libraries import find_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from coldpress_runtime.engines import Engine
    from coldpress_runtime.tasks.tokenizer import Tokenizer

FORMAT = 1


class Model:
    """`session` is what the engine gave; `tokenizer` is None for a model that reads no text."""

    def __init__(
        self,
        folder: str,
        libraries: tuple[str, ...],
        spec: "dict[str, Any]",
        tokenizer: "Tokenizer | None",
        session: "Any",
    ) -> None:
        self.folder = folder
        #: where the function's native parts are looked for
        self.libraries = libraries
        self.spec = spec
        self.tokenizer = tokenizer
        self.session = session


def read_spec(folder: str) -> "dict[str, Any]":
    path = f"{folder}/task.json"
    try:
        with open(path, "rb") as file:
            spec = loads(file.read())
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from None
    if not isinstance(spec, dict) or spec.get("format") != FORMAT:
        found = spec.get("format") if isinstance(spec, dict) else None
        raise LoadError(
            f"{path} has format {found!r}; this runtime reads format {FORMAT}: build the function again"
        )
    return spec


def open_model(folder: str, libraries: tuple[str, ...], threads: int) -> Model:
    spec = read_spec(folder)
    trace.mark("task")
    if spec["engine"] is None:  # custom code, which opens the models that it asks for
        return Model(folder, libraries, spec, None, None)
    engine = load_engine(spec["engine"], libraries)
    trace.mark("library")
    if spec["tokenizer"] is None:
        session = engine.open(folder, spec, threads)
        trace.mark("session")
        # A press file may carry its tokenizer: then the session itself can encode.
        return Model(folder, libraries, spec, session if spec["engine"] == "press" else None, session)
    return _open_both(engine, folder, spec, libraries, threads)


def _open_both(
    engine: "Engine", folder: str, spec: "dict[str, Any]", libraries: tuple[str, ...], threads: int
) -> Model:
    """Load the tokenizer in a second thread while the engine opens its session.

    The session opens in C with the interpreter's lock released, and Lambda lends a starting
    sandbox a second vCPU, whatever its memory size. The tokenizer keeps the lock while it parses,
    so it starts only when nothing but the session is left to do.
    """
    from coldpress_runtime.tasks.tokenizer import LIBRARY, HuggingFace

    # The tokenizer's thread pool costs more than it gives on a vCPU or two. Said here, before there is a second
    # thread: the environment must not change while the engine reads it.
    putenv("TOKENIZERS_PARALLELISM", "false")
    path = f"{folder}/{spec['tokenizer']}"
    tokenizer = Background(lambda: HuggingFace(find_library(LIBRARY, libraries), path, spec))
    try:
        if trace.enabled():  # one after the other, so that each phase shows its own time
            tokenizer.join()
            trace.mark("tokenizer")
        session = engine.open(folder, spec, threads)
        trace.mark("session")
    finally:
        tokenizer.join()  # never leave a thread behind, not even on the way out
    if spec["engine"] != "press":
        from coldpress_runtime.engines.even import Session

        session = Session(session, spec)
    return Model(folder, libraries, spec, tokenizer.result(), session)


class Background:
    """A function running in a thread of its own. `threading` would cost 3 ms to import."""

    def __init__(self, work: "Callable[[], Tokenizer]") -> None:
        self._done = allocate_lock()
        self._done.acquire()
        self._work = work
        self._result: Tokenizer | None = None
        self._error: BaseException | None = None
        start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # handed to the thread that waits
            self._error = error
        finally:
            self._done.release()

    def join(self) -> None:
        with self._done:
            pass

    def result(self) -> "Tokenizer":
        if self._result is None:
            raise self._error or LoadError("the tokenizer did not load")
        return self._result
