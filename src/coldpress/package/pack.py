"""Put a function into what Lambda takes: a zip where it fits, else an image."""

from dataclasses import dataclass
from pathlib import Path, PurePath

from coldpress.artifact import IMAGE, LAYER_ZIP, MODELS_ZIP, ZIP, folder_bytes
from coldpress.errors import RegistryError, UsageError
from coldpress.package.dockerfile import write_dockerfile
from coldpress.package.function import FunctionTree
from coldpress.package.oci.base import default_base, open_base
from coldpress.package.oci.image import make_image
from coldpress.package.zip import write_zip
from coldpress.progress import Progress

#: Lambda's limits: of a zip that is sent with the request, of what a zip may hold, of an image
DIRECT_ZIP = 50_000_000
UNZIPPED = 250_000_000
KINDS = ("auto", "zip", "image", "none")
#: what a layer brings, and where it then lies below /opt
ENGINE, IN_LAYER = "lib", "coldpress/lib"
MODELS, MODELS_IN_LAYER = "models", "coldpress/models"


@dataclass(frozen=True)
class Packing:
    """What a function is to be packed as; `auto` takes a zip where one fits."""

    kind: str = "auto"
    base: str | None = None
    #: whether the engine goes into a zip of its own, which functions share
    layer: bool = False
    #: whether the models do
    models_layer: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"--package is {self.kind!r}; it can be: {', '.join(KINDS)}")
        for flag, wanted in (("--layer", self.layer), ("--models-at layer", self.models_layer)):
            if wanted and self.kind in ("image", "none"):
                raise UsageError(f"{flag} is for zips, and --package is {self.kind}: leave one of them out")
        if self.base is not None and self.kind in ("zip", "none"):
            raise UsageError(f"--base is for images, and --package is {self.kind}: leave one of them out")

    @property
    def most_bytes(self) -> int | None:
        """The largest function that can be packed so."""
        return UNZIPPED if self.kind == "zip" else None

    @property
    def rather_bytes(self) -> int | None:
        """The largest that is preferred, if there is any."""
        return UNZIPPED if self.kind in ("auto", "zip") else None


def pack(
    staging: Path, name: str, engine: str | None, tree: FunctionTree, packing: Packing, show: Progress
) -> None:
    """Beside the function: its package, and a Dockerfile for those who build images with tools of their own."""
    function = staging / "function"
    reference = packing.base or default_base(tree.python)
    write_dockerfile(staging, name, engine, tree.arch, tree.python, reference)
    kind = packing.kind
    if kind == "auto":
        kind = "zip" if folder_bytes(function) <= UNZIPPED else "image"
    if kind == "zip":
        _zip(staging, packing, show)
    if kind == "image":
        with show.stage("image") as say:
            try:
                base = open_base(reference, tree.arch, say)
                image = make_image(function, name, base, staging / IMAGE, say)
            except RegistryError as error:
                raise RegistryError(
                    f"{error}. An image needs its base: --base names another, --package none makes no image",
                    error.status,
                ) from None
            own = sum(layer.size for layer in image.layers) - sum(layer.size for layer in base.layers)
            say(f"{image.digest[:19]}…, {own / 1e6:.1f} MB on {reference}")


def _zip(staging: Path, packing: Packing, show: Progress) -> None:
    function = staging / "function"
    with show.stage("zip") as say:
        sizes: dict[str, int] = {}
        if packing.layer:
            sizes[LAYER_ZIP] = write_zip(function / ENGINE, staging / LAYER_ZIP, say, below=IN_LAYER)
        if packing.models_layer:
            sizes[MODELS_ZIP] = write_zip(
                function / MODELS, staging / MODELS_ZIP, say, below=MODELS_IN_LAYER, keep=_is_weights
            )

        def stays(path: PurePath) -> bool:
            if path.parts[0] == ENGINE:
                return not packing.layer
            return path.parts[0] != MODELS or not packing.models_layer or not _is_weights(path)

        sizes = {ZIP: write_zip(function, staging / ZIP, say, keep=stays), **sizes}
        named = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items())
        say(f"{named}{_through(max(sizes.values()))}")


def _is_weights(path: PurePath) -> bool:
    """What a layer brings of a model: all but what says what it is, which the function reads without it."""
    return path.name not in ("task.json", "index.json")


def _through(size: int) -> str:
    if size <= DIRECT_ZIP:
        return ""
    return f": more than {DIRECT_ZIP / 1e6:.0f} MB go to Lambda through S3 only"
