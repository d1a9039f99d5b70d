"""The peers themselves: how each is started, what it carries, and its model on disk."""

import sysconfig
from dataclasses import dataclass
from pathlib import Path

from coldpress.artifact import Artifact, folder_bytes
from coldpress.bench.peers.packages import need, package_files
from coldpress.cache import cached
from coldpress.emulate.sandbox import Sandbox, base_python, interpreter_for
from coldpress.intake.source import TextEncoder

HANDLERS = Path(__file__).parent / "handlers"
_TO_EXPORT = ("onnx", "onnxscript", "torch", "transformers")


@dataclass(frozen=True)
class Kind:
    what: str
    #: what such a function has to carry, and what making its model takes beside that
    packages: tuple[str, ...]
    to_make: tuple[str, ...] = ()


KINDS = {
    "classic": Kind("torch + transformers fp16, awslambdaric", ("torch", "transformers", "awslambdaric")),
    "expert": Kind(
        "onnxruntime + tokenizers int8, awslambdaric",
        ("onnxruntime", "tokenizers", "awslambdaric"),
        _TO_EXPORT,
    ),
}


@dataclass(frozen=True)
class Served:
    """One way to serve the model. `weight_mb` is unpacked, model included."""

    name: str
    what: str
    root: Path
    command: list[str]
    env: dict[str, str]
    weight_mb: float

    def sandbox(self, cpus: set[int]) -> Sandbox:
        """On these cores; peers may take longer to start than Lambda would let them."""
        threads = {"THREADS": str(len(cpus)), "OMP_NUM_THREADS": str(len(cpus))}
        env = {**threads, "COLDPRESS_THREADS": str(len(cpus)), **self.env}
        return Sandbox(self.root, env=env, command=self.command, cpus=cpus, timeout=300, init_timeout=300)


def need_packages(name: str) -> None:
    need(name, (*KINDS[name].packages, *KINDS[name].to_make))


def serve_ours(artifact: Artifact) -> Served:
    root = artifact.function_folder.resolve()
    command = [str(root / "bootstrap"), interpreter_for(artifact.python)]
    what = f"{artifact.manifest['engine']}, its own bootstrap"
    return Served("coldpress", what, root, command, {}, folder_bytes(root) / 1e6)


def serve_peer(name: str, source: TextEncoder) -> Served:
    kind = KINDS[name]
    folder = source.folder if name == "classic" else expert_folder(source)
    weights = (
        ["model.onnx"] if name == "expert" else [path for path in source.files if path.endswith(".safetensors")]
    )
    files = [*package_files(kind.packages), *(folder / file for file in (*weights, "tokenizer.json"))]
    size = sum(path.stat().st_size for path in files if path.is_file()) / 1e6
    env = {
        "PATH": f"{Path(base_python()).parent}:/usr/bin:/bin",
        "PYTHONPATH": f"{HANDLERS}:{sysconfig.get_paths()['purelib']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "MODEL_FOLDER": str(folder),
        "POOLING": "+".join(source.pooling),
        "NORMALIZE": "1" if source.normalize else "0",
        "MAX_TOKENS": str(source.max_tokens),
    }
    command = [base_python(), "-m", "awslambdaric", f"{name}.lambda_handler"]
    return Served(name, kind.what, HANDLERS, command, env, size)


def expert_folder(source: TextEncoder) -> Path:
    """Exported and quantized once for the same model."""
    from coldpress.bench.peers.exported import write_expert

    key = [source.files, list(source.pooling), source.normalize, source.max_tokens, source.lowercase]
    return cached("peer", key, lambda folder: write_expert(source, folder))
