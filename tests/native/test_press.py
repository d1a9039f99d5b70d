"""The press engine itself: the same bits everywhere, and nothing in a file is trusted."""

import json
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import build as native
import numpy as np
import pytest
from families import make
from numpy.typing import NDArray

import coldpress
from coldpress.artifact import Artifact
from coldpress.intake import Options, find
from coldpress.intake.source import TextEncoder
from coldpress.optimize.press import lower
from coldpress.optimize.press.tokenizer import compile_tokenizer
from coldpress.samples import builtin_texts
from coldpress.tasks.tokenizer import prepare_tokenizer
from tokenizer_kinds import KINDS, trained
from tokenizers_exact import added_texts, random_texts, write_model

SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

#: What is unlike any prose.
ODD = [
    "",
    "\x00",
    "[MASK]",
    "a" * 5000,
    "😀" * 300,
    "\u0301" * 500,
    "x\u302e\u302f" * 99,
    "é\u0301" * 5000,
    " " * 5000,
]

Run = Callable[..., NDArray[np.float32]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="module")
def driver(folder: Path) -> Path:
    native.build(native.host(), folder / "driver", program="tests/driver.c")
    return folder / "driver"


@pytest.fixture(scope="module")
def sanitized(folder: Path) -> Path:
    native.build(native.host(), folder / "sanitized", program="tests/driver.c", extra=SANITIZED)
    return folder / "sanitized"


@pytest.fixture(scope="module")
def tiny(tiny_folder: Path, folder: Path) -> Path:
    """A press file of two narrow layers: thousands of texts in seconds, also under emulation."""
    pressed = coldpress.build(
        tiny_folder, out=folder / "tiny", engine="press", quick=True, package="none", max_drift=1.0
    )
    return pressed.function_folder / "models/tiny-bert/model.press"


@pytest.fixture(scope="module")
def unrounded(minilm_folder: Path, folder: Path) -> Path:
    """A ModernBERT in floats: the ops that the tiny model has not."""
    make("modernbert", minilm_folder, folder / "modern")
    with find(folder / "modern", Options(max_tokens=128)) as source:
        assert isinstance(source, TextEncoder)
        file = lower(source)
        file.tokenizer = compile_tokenizer(prepare_tokenizer(source).json())
    file.write(folder / "modern.press")
    return folder / "modern.press"


@pytest.fixture(scope="module")
def minilm(artifact: Artifact) -> Path:
    return artifact.function_folder / "models/minilm/model.press"


@pytest.fixture(scope="module")
def models(tiny: Path, unrounded: Path, minilm: Path) -> dict[Path, int]:
    """Models, and how many texts of each are quick enough under emulation."""
    return {tiny: 2000, unrounded: 200, minilm: 24}


def texts(count: int, seed: int = 0) -> list[str]:
    """Texts of every length and kind."""
    rng = random.Random(seed)
    known = builtin_texts("coldpress.verify", "samples/texts.jsonl")
    made = list(known[:count])
    while len(made) < count:
        words = rng.choice(known).split() or ["x"]
        made.append(" ".join(rng.choices(words, k=rng.randint(1, 40))))
    return made


def run(
    command: list[str | Path],
    model: Path,
    given: list[str],
    *,
    kernels: str = "auto",
    threads: int = 1,
    batch: int = 16,
) -> bytes:
    data = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in given)
    done = subprocess.run(
        [*command, model, kernels, str(threads), str(batch)], input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout
    return done.stdout


@pytest.mark.parametrize("kernels", ["portable", "avx2", "avx512", "neon"])
def test_every_kernel_gives_the_same_bits(
    kernels: str, driver: Path, tiny: Path, unrounded: Path, minilm: Path
) -> None:
    probe = subprocess.run([driver, tiny, kernels, "1", "1"], input=b"", capture_output=True, check=False)
    if probe.returncode == 4:
        pytest.skip(f"this CPU cannot run {kernels}")
    many = texts(3000)
    assert run([driver], tiny, many, kernels=kernels) == run([driver], tiny, many)
    assert run([driver], unrounded, many[:500], kernels=kernels) == run([driver], unrounded, many[:500])
    few = texts(30 if kernels == "portable" else 240)
    assert run([driver], minilm, few, kernels=kernels) == run([driver], minilm, few)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_do_not_change_a_bit(threads: int, driver: Path, tiny: Path, minilm: Path) -> None:
    many = texts(3000, seed=1)
    assert run([driver], tiny, many, threads=threads) == run([driver], tiny, many)
    assert run([driver], minilm, many[:100], threads=threads) == run([driver], minilm, many[:100])


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_alone_or_in_a_batch(batch: int, driver: Path, tiny: Path, minilm: Path) -> None:
    many = texts(3000, seed=2)
    assert run([driver], tiny, many, batch=batch) == run([driver], tiny, many)
    assert run([driver], minilm, many[:100], batch=batch) == run([driver], minilm, many[:100])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "emulator", "cpu", "kernels"),
    [
        pytest.param("x86_64", "qemu-x86_64-static", "Haswell", b"avx2", id="an x86 without AVX512"),
        pytest.param("arm64", "qemu-aarch64-static", "neoverse-n1", b"neon", id="a Graviton2"),
    ],
)
def test_other_cpus_give_the_same_bits(
    arch: str, emulator: str, cpu: str, kernels: bytes, folder: Path, driver: Path, models: dict[Path, int]
) -> None:
    """By emulation: the kernels that such a CPU chooses for itself, every kind of op."""
    if shutil.which(emulator) is None or native.compiler(arch) is None:
        pytest.skip(f"needs {emulator} and a compiler for {arch}")
    static = folder / f"driver-{arch}"
    native.build(arch, static, program="tests/driver.c", extra=("-static",))
    emulated: list[str | Path] = [emulator, "-cpu", cpu, static]
    for model, count in models.items():
        probe = subprocess.run([*emulated, model, "auto", "1", "1"], input=b"", capture_output=True, check=True)
        assert kernels in probe.stderr
        assert run(emulated, model, texts(count)) == run([driver], model, texts(count))


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_it_loads_on_every_lambda_runtime(arch: str, folder: Path) -> None:
    """No symbol newer than glibc 2.17, so that Amazon Linux 2 can load it too; and small."""
    if native.compiler(arch) is None:
        pytest.skip(f"no compiler for {arch}")
    library = folder / f"libpress-{arch}.so"
    native.build(arch, library)
    again = folder / f"again-{arch}.so"
    native.build(arch, again)
    data = library.read_bytes()
    assert data == again.read_bytes(), "the same bytes each time"
    versions = {tuple(map(int, part.split(b"\0")[0].split(b"."))) for part in data.split(b"GLIBC_")[1:]}
    assert max(versions) <= (2, 17)
    assert len(data) < 200_000  # on arm64, parts begin at pages of 64 kB


def test_sanitizers_find_nothing(sanitized: Path, tiny: Path) -> None:
    for kernels in ("auto", "portable"):
        run([sanitized], tiny, texts(600) + ODD, kernels=kernels, threads=2)


@pytest.mark.parametrize("kind", KINDS)
def test_sanitizers_find_nothing_in_tokenizers(kind: str, sanitized: Path, folder: Path) -> None:
    write_model(trained(kind).to_str(), folder / f"{kind}.press")
    many = [*texts(300), *ODD, *islice(random_texts(random.Random(0), added_texts(trained(kind))), 2000)]
    # Its table of embeddings has one row, so that the model itself refuses what the tokenizer made.
    assert tokenized(sanitized, folder / f"{kind}.press", many) == 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_damaged_tokenizer_does_harm(kind: str, sanitized: Path, tmp_path: Path) -> None:
    """Words of its header and of its tables overwritten: refused with a reason, or run; never a crash."""
    write_model(trained(kind).to_str(), tmp_path / "whole.press")
    whole = (tmp_path / "whole.press").read_bytes()
    start, size = struct.unpack_from("<QQ", whole, 32)
    rng = random.Random(0)
    some = [*texts(10), *ODD, *islice(random_texts(rng, added_texts(trained(kind))), 60)]
    codes = []
    for trial in range(300):
        data = bytearray(whole)
        for _ in range(1 if trial % 2 else 50):
            at = start + rng.randrange(0, 224 if trial % 2 else size - 4, 4)
            choices = [0, 1, 0x7FFFFFFF, 0xFFFFFFFF, rng.getrandbits(32), rng.getrandbits(20), rng.getrandbits(12)]
            data[at : at + 4] = struct.pack("<I", rng.choice(choices))
        (tmp_path / "damaged.press").write_bytes(data)
        codes.append(tokenized(sanitized, tmp_path / "damaged.press", some))
    assert {3, 6} == {*codes}, "some are refused, some run"


def tokenized(driver: Path, model: Path, given: list[str]) -> int:
    """The driver's exit code: 3 when it refuses the model, 6 when the model refuses the tokens."""
    data = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in given)
    command: list[str | Path] = [driver, model, "auto", "1", str(len(given))]
    done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=120)
    assert done.returncode in (3, 6), done.stderr.decode()[-2000:]
    return done.returncode


@pytest.mark.slow
def test_no_damaged_file_does_harm(sanitized: Path, tiny: Path, tmp_path: Path) -> None:
    """Cut, flipped and overwritten in hundreds of ways: refused with a reason, or run; never a crash."""
    whole = tiny.read_bytes()
    rng = random.Random(0)
    damaged = tmp_path / "damaged.press"
    text = b"\x05\x00\x00\x00hello"
    refused = 0
    for trial in range(400):
        data = bytearray(whole)
        kind = trial % 4
        if kind == 0:
            data = data[: rng.randrange(len(data))]
        elif kind == 1:
            data[rng.randrange(160)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            at = rng.randrange(0, 160 + 96 * 20, 4)
            data[at : at + 4] = struct.pack("<I", rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, rng.getrandbits(32)]))
        else:
            (tokenizer,) = struct.unpack_from("<Q", data, 32)
            at = tokenizer + rng.randrange(0, 80, 4)
            data[at : at + 4] = struct.pack(
                "<I", rng.choice([0, 1, 0xFFFFFFFF, rng.getrandbits(32), rng.getrandbits(20)])
            )
        damaged.write_bytes(data)
        done = subprocess.run(
            [sanitized, damaged, "auto", "1", "1"], input=text, capture_output=True, check=False, timeout=60
        )
        assert done.returncode in (0, 3, 4, 6), f"trial {trial}: {done.stderr.decode()[-2000:]}"
        refused += done.returncode == 3
    assert refused > 200


def test_a_file_of_another_time_is_refused_by_name(driver: Path, tiny: Path, tmp_path: Path) -> None:
    for at, value, reason in (
        (0, b"x", "not a press file"),
        (8, b"\x09", "another version"),
        (12, b"\x09", "another architecture"),
    ):
        data = bytearray(tiny.read_bytes())
        data[at : at + 1] = value
        (tmp_path / "other.press").write_bytes(data)
        done = subprocess.run(
            [driver, tmp_path / "other.press", "auto", "1", "1"], capture_output=True, check=False
        )
        assert (done.returncode, reason in done.stderr.decode()) == (3, True)


def test_floats_are_the_shortest_that_read_back(artifact: Artifact) -> None:
    from coldpress_runtime.engines.press import Engine, Output
    from coldpress_runtime.faults import EngineError

    engine = Engine((str(artifact.function_folder / "lib"),))
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [
            rng.normal(size=20_000).astype(np.float32) * np.float32(0.05),
            rng.integers(0, 2**32, 50_000, dtype=np.uint32).view(np.float32),
            np.array([0.0, -0.0, 1, 0.1, 1e-5, 9.9999e-6, 100, 3.4e38, 1e-45], dtype=np.float32),
        ]
    )
    values = values[np.isfinite(values)]
    output = Output(bytearray(values.tobytes()), [0], 1, engine._functions["press_json"])
    text = output.json(0, len(values))
    assert np.array(json.loads(text), dtype=np.float32).tobytes() == values.tobytes()
    for value, written in list(zip(values, text[1:-1].split(","), strict=True))[:20_000]:
        digits = (
            np.format_float_scientific(value, unique=True, trim="-").split("e")[0].replace(".", "").lstrip("-0")
        )
        assert len(written.split("e")[0].replace(".", "").lstrip("-0")) <= len(digits)
    broken = Output(bytearray(struct.pack("2f", 1.0, float("nan"))), [0], 1, engine._functions["press_json"])
    with pytest.raises(EngineError, match="finite"):
        broken.json(0, 2)
