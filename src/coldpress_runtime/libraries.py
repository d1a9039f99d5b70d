"""Where the packed native parts lie: beside the runtime, or in a layer that functions share."""

from posix import stat

from coldpress_runtime.faults import LoadError


def find_library(name: str, folders: tuple[str, ...]) -> str:
    for folder in folders:
        path = f"{folder}/{name}"
        try:
            stat(path)
        except OSError:
            continue
        return path
    raise LoadError(f"{name} is in none of {', '.join(folders)}; build the function again")
