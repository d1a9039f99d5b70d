"""The contestants of the cold-start benchmark, each with what it needs on disk."""

import os
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

import deflate

import coldpress
from coldpress.bench.peers.packages import package_files
from coldpress.bench.peers.serving import HANDLERS, KINDS, expert_folder
from coldpress.emulate.sandbox import base_python
from coldpress.intake import Options, find
from coldpress.intake.demo import demo_folder
from coldpress.intake.source import TextEncoder

SITE = sysconfig.get_paths()["purelib"]


@dataclass(frozen=True)
class Contestant:
    key: str
    what: str
    root: Path
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    #: distributions that such a function would have to carry
    packages: tuple[str, ...] = ()
    model_files: tuple[Path, ...] = ()

    def environment(self, cores: int) -> dict[str, str]:
        """Lambda's environment, with as many threads as cores."""
        return {
            "PATH": f"{Path(base_python()).parent}:/usr/bin:/bin",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(1769 * cores),
            "THREADS": str(cores),
            "OMP_NUM_THREADS": str(cores),
            **self.env,
        }


def prepare(folder: Path) -> list[Contestant]:
    """Build what the contestants need below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    artifact = coldpress.build("demo:minilm", out=folder / "ours")
    function = artifact.function_folder
    model = demo_folder("demo:minilm")
    with find("demo:minilm", Options()) as source:
        assert isinstance(source, TextEncoder)
        expert = expert_folder(source)
    client = [base_python(), "-m", "awslambdaric"]
    python_path = f"{HANDLERS}:{SITE}"
    return [
        Contestant(
            "classic",
            KINDS["classic"].what,
            HANDLERS,
            [*client, "classic.lambda_handler"],
            {"PYTHONPATH": python_path, "MODEL_FOLDER": str(model), "HF_HUB_OFFLINE": "1"},
            KINDS["classic"].packages,
            (model / "model.safetensors", model / "tokenizer.json"),
        ),
        Contestant(
            "expert",
            KINDS["expert"].what,
            HANDLERS,
            [*client, "expert.lambda_handler"],
            {"PYTHONPATH": python_path, "MODEL_FOLDER": str(expert)},
            KINDS["expert"].packages,
            (expert / "model.onnx", expert / "tokenizer.json"),
        ),
        Contestant("ours", "coldpress, bootstrap", function, [str(function / "bootstrap")]),
        Contestant(
            "ours_handler",
            "coldpress, handler.py, awslambdaric",
            function,
            [*client, "handler.lambda_handler"],
            {"PYTHONPATH": f"{function}:{SITE}"},
        ),
    ]


def sizes(contestant: Contestant) -> tuple[float, float]:
    """Megabytes that the function weighs, zipped and unzipped, in the packages' own files."""
    if not contestant.packages:
        paths = [path for path in contestant.root.rglob("*") if path.is_file()]
    else:
        paths = [*contestant.model_files, *package_files(contestant.packages)]
    unzipped = zipped = 0
    for path in paths:
        unzipped += path.stat().st_size
        zipped += len(deflate.deflate_compress(path.read_bytes(), 6))
    return zipped / 1e6, unzipped / 1e6


def cores_for(count: int) -> set[int]:
    """The last `count` cores of those we may use: the first is busy with this very benchmark."""
    return set(sorted(os.sched_getaffinity(0))[-count:])
