"""Build the press library, those for pictures and sounds, the sandbox launcher and the simulator, with gcc:
`python native/build.py src/coldpress`, the package that they become parts of.

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
    *("model", "run", "pool", "json", "choose", "round"),
    *("tokenizer", "added", "normalize", "wordpiece", "bpe"),
    *("steps", "canonical", "charsmap", "unigram"),
]
#: for CPUs that Lambda does not have: small rather than fast
PORTABLE = {"kernels_portable": ["-O2"]}
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
    sources: dict[str, list[str]] = {name: [] for name in COMMON} | PORTABLE | KERNELS[arch]
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


PICTURES = ("picture", "jpeg", "png", "fit")
SOUNDS = ("decode", "resample")
#: a cross compiler does not look where the host's headers are, and these are the same for all
_HEADERS = ("-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu")


def build_pictures(arch: str, target: Path) -> bool:
    """Compile the library that decodes pictures. What it calls of libjpeg and libpng is found when it runs."""
    cc = compiler(arch)
    assert cc is not None
    for header in ("stdio.h", "jpeglib.h"), ("png.h",):
        source = "".join(f"#include <{name}>\n" for name in header)
        check = [cc, *_HEADERS, "-fsyntax-only", "-xc", "-"]
        if subprocess.run(check, input=source, text=True, capture_output=True, check=False).returncode:
            return False
    _shared(cc, "pictures", PICTURES, target, _HEADERS)
    return True


def build_sounds(arch: str, target: Path) -> None:
    """Compile the library that reads samples and changes their rate. It calls nobody else's."""
    cc = compiler(arch)
    assert cc is not None
    _shared(cc, "sounds", SOUNDS, target)


def build_launcher(arch: str, target: Path) -> None:
    """Compile the program that starts a function in a world like Lambda's."""
    cc = compiler(arch)
    assert cc is not None
    folder = HERE / "sandbox"
    sources = [str(folder / f"{name}.c") for name in ("launch", "world")]
    subprocess.run([cc, *FLAGS, "-O2", "-o", str(target), *sources], check=True)


def build_simulator(arch: str, target: Path) -> None:
    """Compile the library that plays a month of traffic in seconds."""
    cc = compiler(arch)
    assert cc is not None
    _shared(cc, "simulate", ("common", "fleet", "servers", "arrivals"), target)


def _shared(cc: str, name: str, sources: tuple[str, ...], target: Path, extra: tuple[str, ...] = ()) -> None:
    folder = HERE / name
    command = [cc, *FLAGS, *extra, "-shared", f"-Wl,--version-script={folder / 'exports.map'}", "-o", str(target)]
    subprocess.run([*command, *(str(folder / f"{source}.c") for source in sources), "-lm"], check=True)


def main(package: Path) -> None:
    folder = package / "package" / "press"
    folder.mkdir(parents=True, exist_ok=True)
    for arch in KERNELS:
        if compiler(arch) is None:
            sys.stderr.write(f"press for {arch} is left out: {COMPILERS[arch]} is not installed\n")
            continue
        build(arch, folder / f"libpress-{arch}.so")
        build_sounds(arch, folder / f"libsounds-{arch}.so")
        build_launcher(arch, package / "emulate" / "world" / f"launch-{arch}")
        build_simulator(arch, package / "cost" / "simulate" / f"libsimulate-{arch}.so")
        if not build_pictures(arch, folder / f"libpictures-{arch}.so"):
            sys.stderr.write(f"pictures for {arch} is left out: libjpeg-dev or libpng-dev is not installed\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
