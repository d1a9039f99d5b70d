"""Stripping: what is left still loads, and what is no library is refused."""

import contextlib
import ctypes
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.package.elf import NotElf, machine, strip


def test_stripped_libraries_load(graph_artifact: Artifact) -> None:
    lib = graph_artifact.function_folder / "lib"
    ort = ctypes.CDLL(str(lib / "libonnxruntime.so"))
    assert ort.OrtGetApiBase
    script = """
import _imp, sys
from _frozen_importlib import ModuleSpec
module = _imp.create_dynamic(ModuleSpec("tokenizers", None, origin=sys.argv[1]))
_imp.exec_dynamic(module)
print(module.Tokenizer)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(lib / "tokenizers.abi3.so")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Tokenizer" in done.stdout


def test_it_takes_off_what_a_loader_never_reads(graph_artifact: Artifact) -> None:
    (whole,) = [
        Path(str(file.locate()))
        for file in distribution("tokenizers").files or []
        if str(file).endswith("tokenizers.abi3.so")
    ]
    packed = graph_artifact.function_folder / "lib/tokenizers.abi3.so"
    assert packed.stat().st_size < 0.75 * whole.stat().st_size
    assert strip(packed.read_bytes()) == packed.read_bytes()
    assert machine(packed.read_bytes()) in ("x86_64", "arm64")


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: b"\x7fELF\x02\x01" + data))
def test_anything_else_is_refused_or_kept_short(data: bytes) -> None:
    with contextlib.suppress(NotElf):
        assert len(strip(data)) <= len(data)


def test_a_cut_off_library_is_refused(graph_artifact: Artifact) -> None:
    data = (graph_artifact.function_folder / "lib/tokenizers.abi3.so").read_bytes()
    with pytest.raises(NotElf, match="past its end"):
        strip(data[: len(data) // 2])
