"""A TorchScript archive: compiled code of somebody's, opened only when a person says so, and away from secrets."""

import zipfile
from dataclasses import replace
from pathlib import Path

from coldpress.errors import IntakeError, UnsupportedModel, UsageError
from coldpress.intake.live import describe_module
from coldpress.intake.source import LiveModule, Options


def is_torchscript(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any("/code/" in name for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False


def describe_torchscript(path: Path, options: Options) -> LiveModule:
    if not options.allow_torchscript:
        raise UnsupportedModel(
            f"{path} is a TorchScript archive, which runs its own code when it is opened. Where you trust it: "
            "--allow-torchscript"
        )
    if options.inputs is None:
        raise UsageError(f"nobody says what {path.name} is called with: give --inputs FILE")
    import warnings

    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the format's age
        try:
            module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise IntakeError(f"{path} cannot be opened: {str(error).splitlines()[0]}") from None
    described = describe_module(module, options, options.inputs, origin=path.name, kind="torchscript")
    return replace(described, ran="torchscript")
