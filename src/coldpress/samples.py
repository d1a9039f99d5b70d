"""Built-in sample texts: JSON Lines, one object per line."""

import json
from importlib.resources import files


def builtin_texts(package: str, path: str) -> list[str]:
    """The texts of a samples file inside `package`."""
    # Not splitlines(): a text may hold any of the characters that it would split at.
    lines = files(package).joinpath(path).read_text("utf-8").split("\n")
    return [json.loads(line)["text"] for line in lines if line]
