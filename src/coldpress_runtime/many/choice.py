"""One of many models, chosen by the request: as a task, so that whoever asks need not know."""

from coldpress_runtime import settings
from coldpress_runtime.faults import BadRequest, LoadError
from coldpress_runtime.many.index import Index
from coldpress_runtime.many.shelf import Shelf
from coldpress_runtime.model import open_model
from coldpress_runtime.tasks import open_task
from coldpress_runtime.tasks.texts import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable, Sequence

    from coldpress_runtime.many.remote import Remote
    from coldpress_runtime.many.tenants import Tenants
    from coldpress_runtime.model import Model
    from coldpress_runtime.tasks import Route, Task

FIELD = "model"
#: of the function's memory, what models may take unless COLDPRESS_MODEL_MEMORY says otherwise; the rest is for
#: Python, and for requests and answers of several megabytes
_SHARE = 0.7
#: names that an error shows
_SHOWN = 20


class Many:
    def __init__(
        self, folder: str, libraries: tuple[str, ...], turn: "Callable[[], LockType | None]" = lambda: None
    ) -> None:
        self.index = Index(folder)
        self._libraries = libraries
        self.shelf = Shelf(self._weigh, self._find, self._open, most_memory(), turn)
        self._remote: Remote | None = None
        self.tenants: Tenants | None = None
        if self.index.tenants is not None:
            from coldpress_runtime.many import tenants

            self.tenants = tenants.Tenants(self.index.tenants)
        self.routes: dict[str, Route] = {"/": self.plain}

    def preload(self) -> None:
        """The models that COLDPRESS_PRELOAD names, before the first request; others come when they are asked."""
        for name in settings.variable("COLDPRESS_PRELOAD").split(","):
            if name:
                self.shelf.give_back(self.shelf.borrow(self.named({FIELD: name})))

    def plain(self, request: object, room: int) -> str:
        """A request that no other path was given for; `model` says who answers it."""
        name = self.named(request)
        lent = self.shelf.borrow(name)
        try:
            assert lent.task is not None
            return lent.task.routes["/"](without_name(request), room)
        finally:
            self.shelf.give_back(lent)

    def spread(self, values: list[object]) -> "list[str | Exception]":
        """Answers for each of many requests, those for one model together."""
        from coldpress_runtime.batch import ask_many

        made: list[str | Exception] = [""] * len(values)
        groups: dict[str, list[int]] = {}
        for at, value in enumerate(values):
            if isinstance(value, BadRequest):
                made[at] = value
                continue
            try:
                groups.setdefault(self.named(value), []).append(at)
            except BadRequest as error:
                made[at] = error
        for name, places in groups.items():
            answers: Sequence[str | Exception]
            try:
                lent = self.shelf.borrow(name)
            except Exception as trouble:
                answers = [trouble] * len(places)
            else:
                try:
                    answers = ask_many(lent.task, [without_name(values[at]) for at in places])
                finally:
                    self.shelf.give_back(lent)
            for at, answer in zip(places, answers, strict=True):
                made[at] = answer
        return made

    def named(self, request: object, allowed: "list[str] | None" = None) -> str:
        """The model that a request is for; `allowed` is what whoever sent it may ask for, the usual one first."""
        known = self.index.names if allowed is None else allowed
        name = request.get(FIELD) if isinstance(request, dict) else None
        if name is None:
            usual = self.index.default if allowed is None else next(iter(allowed), None)
            if usual is None:
                raise BadRequest(
                    400, "missing_field", f"the field {FIELD!r} is missing; this function has {listed(known)}"
                )
            return usual
        if name not in known:
            raise not_found(name, known)
        return str(name)

    def _weigh(self, name: str) -> int:
        memory: int = self.index.models[name]["memory"]
        return memory

    def _find(self, name: str) -> str:
        files = self.index.remote_files(name)
        if files is None:
            return self.index.local_folder(name)
        if self._remote is None:
            from coldpress_runtime.many.remote import Remote

            self._remote = Remote(self.index.store)
        return self._remote.folder(name, files, self.index.spec_text(name), lambda: self.shelf.open_names)

    def _open(self, folder: str) -> "tuple[Model, Task]":
        model = open_model(folder, self._libraries, settings.threads())
        return model, open_task(model)


def most_memory() -> int:
    """What all models together may take, in bytes; 0: no limit is known."""
    said = settings.variable("COLDPRESS_MODEL_MEMORY")
    if said:
        if not said.isdecimal() or not int(said):
            raise LoadError(f"COLDPRESS_MODEL_MEMORY is {said!r}; it must be a number of megabytes, 1 or more")
        return int(said) * 1_000_000
    memory = settings.variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    return int(int(memory) * 1024 * 1024 * _SHARE) if memory.isdecimal() else 0


def without_name(request: object) -> object:
    if isinstance(request, dict) and FIELD in request:
        return {key: value for key, value in request.items() if key != FIELD}
    return request


def not_found(name: object, known: list[str]) -> BadRequest:
    return BadRequest(
        404, "model_not_found", f"there is no model {shown(name)}; this function has {listed(known)}"
    )


def listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
