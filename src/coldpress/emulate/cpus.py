"""Other CPUs than this one: a function started as they would run it, by qemu's user-mode emulation.

Lambda's fleets have x86 CPUs that know AVX2 and no more, and Graviton2, which has dot products and no more.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from coldpress.emulate.debian import debian_root
from coldpress.emulate.sandbox import Sandbox, base_python
from coldpress.errors import MissingPart
from coldpress.package.libraries import host_architecture, place_libraries

#: what they are called → architecture, qemu's program, qemu's name of the CPU
CPUS = {
    "avx2": ("x86_64", "qemu-x86_64-static", "Haswell"),
    "arm64": ("arm64", "qemu-aarch64-static", "neoverse-n1"),
}
#: emulation is some twenty times slower
_PATIENCE = 300.0
_START = """import sys
root = sys.argv[1]
sys.path.append(root)
from coldpress_runtime.bootstrap import main
sys.exit(main(root))"""


def sandbox_as(cpu: str, function: Path) -> Sandbox:
    """A sandbox that believes to be on `cpu`; the function must be for its architecture."""
    arch, program, model = CPUS[cpu]
    emulator = shutil.which(program)
    if emulator is None:
        raise MissingPart(f"to run as {cpu}, {program} is needed: apt-get install qemu-user-static")
    command = [emulator, "-cpu", model]
    if arch == host_architecture():
        command.append(base_python())
    elif arch == "arm64":
        root = debian_root("arm64", ("python3", "libstdc++6"))
        command += ["-L", str(root), str(next(root.glob("usr/bin/python3.*")))]
    else:
        raise MissingPart(f"an {arch} CPU cannot be emulated on {host_architecture()} yet")
    command += ["-I", "-S", "-B", "-c", _START, str(function.resolve())]
    return Sandbox(function, command=command, timeout=_PATIENCE, init_timeout=_PATIENCE)


@contextmanager
def twin(function: Path, engine: str, arch: str) -> Iterator[Path]:
    """The same function with libraries for `arch`: models are the same for all."""
    with TemporaryDirectory(prefix="coldpress-twin-") as folder:
        copy = Path(folder) / "function"
        shutil.copytree(function, copy)
        beside = {"tokenizers": "tokenizers.abi3.so", "pictures": "libpictures.so", "sounds": "libsounds.so"}
        needed = tuple(name for name, file in beside.items() if (copy / "lib" / file).exists())
        shutil.rmtree(copy / "lib")
        place_libraries(engine, needed, copy / "lib", arch)
        yield copy
