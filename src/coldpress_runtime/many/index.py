"""models/index.json: the models of a function by name, and where those lie that are not in its package."""

from posix import stat

from coldpress_runtime.faults import LoadError
from coldpress_runtime.jsontext import loads
from coldpress_runtime.model import read_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
FILE = "index.json"
#: where a layer's models lie
LAYER = "/opt/coldpress/models"


class Index:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        path = f"{folder}/{FILE}"
        try:
            with open(path, "rb") as file:
                said = loads(file.read())
        except OSError as error:
            raise LoadError(f"{path} cannot be read: {error.strerror}; build the function again") from None
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            found = said.get("format") if isinstance(said, dict) else None
            raise LoadError(f"{path} has format {found!r}; this runtime reads format {FORMAT}: build it again")
        #: name → what is said of it: `files`, for one that lies in S3
        self.models: dict[str, dict[str, Any]] = said["models"]
        #: the one that answers those who name none
        self.default: str | None = said.get("default")
        #: where the others lie: s3://bucket/prefix
        self.store: str = said.get("store", "")
        self.tenants: dict[str, Any] | None = said.get("tenants")

    @property
    def names(self) -> list[str]:
        return [*self.models]

    def spec(self, name: str) -> "dict[str, Any]":
        """Its task.json, which lies in the package wherever the rest does."""
        return read_spec(f"{self._folder}/{name}")

    def spec_text(self, name: str) -> str:
        with open(f"{self._folder}/{name}/task.json", encoding="utf-8") as file:
            return file.read()

    def remote_files(self, name: str) -> "dict[str, Any] | None":
        """The files to fetch, each with its size and its hashes; None for a model that is here."""
        return self.models[name].get("files")

    def local_folder(self, name: str) -> str:
        """Where a model of the package lies, or one of a layer."""
        own, layer = f"{self._folder}/{name}", f"{LAYER}/{name}"
        weights = self.spec(name)["model"]
        for folder in (own, layer):
            try:
                stat(f"{folder}/{weights}")
            except OSError:
                continue
            return folder
        raise LoadError(
            f"the model {name!r} is neither in {own} nor in {layer}: add the layer that was built with it"
        )
