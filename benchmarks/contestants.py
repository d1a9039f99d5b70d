"""The contestants of the cold-start benchmark, each with what it needs on disk."""

import os
import shutil
import sysconfig
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

import deflate
from packaging.requirements import Requirement

import coldpress
from coldpress.emulate.sandbox import base_python
from coldpress.intake.demo import demo_folder

HERE = Path(__file__).parent
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
    expert = _expert_model(folder / "expert")
    client = [base_python(), "-m", "awslambdaric"]
    handlers = HERE / "handlers"
    python_path = f"{handlers}:{SITE}"
    return [
        Contestant(
            "classic",
            "torch + transformers fp16, awslambdaric",
            handlers,
            [*client, "classic.lambda_handler"],
            {"PYTHONPATH": python_path, "MODEL_FOLDER": str(model), "HF_HUB_OFFLINE": "1"},
            ("torch", "transformers", "awslambdaric"),
            (model / "model.safetensors", model / "tokenizer.json"),
        ),
        Contestant(
            "expert",
            "onnxruntime + tokenizers int8, awslambdaric",
            handlers,
            [*client, "expert.lambda_handler"],
            {"PYTHONPATH": python_path, "MODEL_FOLDER": str(expert)},
            ("onnxruntime", "tokenizers", "awslambdaric"),
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


def _expert_model(folder: Path) -> Path:
    """The model as onnxruntime's own tools make it: exported, then quantize_dynamic."""
    from coldpress.intake.folder import describe_folder
    from coldpress.intake.source import Options, TextEncoder
    from coldpress.tasks.tokenizer import prepare_tokenizer
    from masked import export_masked, quantize_dynamic

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    source = describe_folder(demo_folder("demo:minilm"), "demo:minilm", Options())
    assert isinstance(source, TextEncoder)
    prepare_tokenizer(source).write(folder / "tokenizer.json")
    quantize_dynamic(export_masked(folder / "exported.onnx"), folder / "model.onnx")
    (folder / "exported.onnx").unlink()
    return folder


def sizes(contestant: Contestant) -> tuple[float, float]:
    """Megabytes that the function weighs, zipped and unzipped, in the packages' own files."""
    if not contestant.packages:
        paths = [path for path in contestant.root.rglob("*") if path.is_file()]
    else:
        paths = [*contestant.model_files]
        for name in sorted(_closure(contestant.packages)):
            paths += [Path(str(file.locate())) for file in distribution(name).files or []]
        paths = [path for path in paths if path.suffix != ".pyc" and path.is_file()]
    unzipped = zipped = 0
    for path in paths:
        unzipped += path.stat().st_size
        zipped += len(deflate.deflate_compress(path.read_bytes(), 6))
    return zipped / 1e6, unzipped / 1e6


def _closure(names: tuple[str, ...]) -> set[str]:
    """Distributions and all that they need, as pip would install them here."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for line in distribution(name).requires or []:
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(need.name.lower())
    return found


def cores_for(count: int) -> set[int]:
    """The last `count` cores of those we may use: the first is busy with this very benchmark."""
    return set(sorted(os.sched_getaffinity(0))[-count:])
