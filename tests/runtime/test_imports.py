"""What ships imports the standard library and nothing else, and the cold path hardly even that."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import coldpress_runtime
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import base_python

SOURCE = Path(coldpress_runtime.__file__).parent

LATER = {"_sha2"}  # of the standard library since Python 3.12

#: Modules of the standard library that a first answer may load beyond those of a bare interpreter.
COLD = {"_ctypes", "_json", "_operator", "_socket", "_thread", "posix", "time", "_imp"}


def test_only_the_standard_library() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path.name}: imports are written out in full"
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                if top == "torch" and path.parts[-2:] == ("engines", "torch.py"):
                    continue  # its own engine, and no other file
                assert top in sys.stdlib_module_names | LATER | {"coldpress_runtime"}, f"{path}: {name}"


def test_the_cold_path_loads_next_to_nothing(artifact: Artifact) -> None:
    script = """
import sys
before = set(sys.modules)
sys.path.append(sys.argv[1])
from coldpress_runtime import bootstrap
answer = bootstrap.Function(sys.argv[1]).answer(b'{"text": "hi"}')
assert answer.startswith('{"embeddings"'), answer
loaded = {name for name in set(sys.modules) - before if not name.startswith("coldpress_runtime")}
from coldpress_runtime.jsontext import dumps
print(dumps(sorted(loaded)))
"""
    done = subprocess.run(
        [base_python(), "-I", "-S", "-c", script, str(artifact.function_folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(done.stdout))
    assert loaded <= COLD, f"the cold path now also loads {sorted(loaded - COLD)}"


def test_the_runtime_parses_on_the_oldest_python_that_lambda_has() -> None:
    for path in SOURCE.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
