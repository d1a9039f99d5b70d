"""Build the press library with gcc: `python native/build.py OUT_FOLDER`.

Flags are part of the engine's promise: without -ffp-contract=off a compiler may fuse a multiply and an
add on one CPU and not on another, and the bits would differ.
"""

import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
COMMON = [
    *("model", "run", "pool", "json", "choose", "round", "kernels_portable"),
    *("tokenizer", "added", "normalize", "wordpiece", "bpe"),
    *("steps", "canonical", "charsmap", "unigram"),
]
KERNELS = {
    "x86_64": {
        "kernels_avx2": ["-mavx2", "-mfma"],
        "kernels_avx512": [
            *("-mavx2", "-mfma", "-mavx512f", "-mavx512bw"),
            *("-mavx512dq", "-mavx512vl", "-mavx512vnni"),
        ],
    },
    "arm64": {"kernels_neon": ["-march=armv8.2-a+dotprod"]},
}
COMPILERS = {"x86_64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"}
FLAGS = [
    *("-std=gnu11", "-O3", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    "-fno-strict-aliasing",  # four bytes are read as one word
    "-fwrapv",  # a sum that a wrong file makes too large wraps everywhere, as vector instructions do
    *("-Wall", "-Wextra", "-Werror", "-Wno-unused-function"),
    # The same bytes wherever it is built.
    *(f"-ffile-prefix-map={HERE}=native", "-Wl,--build-id=none"),
]


def host() -> str:
    return {"aarch64": "arm64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())


def compiler(arch: str) -> str | None:
    """The gcc for an architecture: its cross compiler, or the plain one where that is the host."""
    return shutil.which(COMPILERS[arch]) or (shutil.which("gcc") if arch == host() else None)


def build(
    arch: str,
    target: Path,
    *,
    program: str | None = None,
    extra: tuple[str, ...] = (),
    using: str | None = None,
) -> None:
    """Compile the library for `arch` into the file `target`, or a `program` that has it inside.

    `using` names another compiler than gcc, one that understands its flags.
    """
    cc = using or compiler(arch)
    if cc is None:
        raise FileNotFoundError(f"no compiler for {arch}: apt-get install gcc, or gcc-aarch64-linux-gnu for arm64")
    sources: dict[str, list[str]] = {name: [] for name in COMMON} | KERNELS[arch]
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for name, flags in sources.items():
            objects.append(f"{folder}/{name}.o")
            subprocess.run(
                [cc, *FLAGS, *extra, *flags, "-c", str(HERE / f"{name}.c"), "-o", objects[-1]], check=True
            )
        if program is None:
            link = ["-shared", f"-Wl,--version-script={HERE / 'exports.map'}"]
        else:
            link = [str(HERE / program), "-pthread"]
        subprocess.run([cc, *FLAGS, *extra, *link, "-o", str(target), *objects, "-lm"], check=True)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for arch in KERNELS:
        if compiler(arch) is None:
            sys.stderr.write(f"press for {arch} is left out: {COMPILERS[arch]} is not installed\n")
            continue
        build(arch, folder / f"libpress-{arch}.so")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
