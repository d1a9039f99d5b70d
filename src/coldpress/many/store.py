"""Files of models that will lie in S3: each under its own hash, so no deployment changes what another reads."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

#: what is fetched and checked at a time
PART = 8 * 1024 * 1024
SPEC = "task.json"


def put_aside(model: Path, store: Path) -> dict[str, Any]:
    """Move a model's files, all but its task.json, into the store; what the index says of each."""
    said: dict[str, Any] = {}
    for path in sorted(path for path in model.iterdir() if path.name != SPEC):
        whole, parts, size = hashlib.sha256(), [], 0
        with path.open("rb") as file:
            while data := file.read(PART):
                whole.update(data)
                parts.append(hashlib.sha256(data).hexdigest())
                size += len(data)
        key = f"{whole.hexdigest()}/{path.name}"
        target = store / key
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
        said[path.name] = {"key": key, "bytes": size, "part": PART, "sha256": parts}
    return said
