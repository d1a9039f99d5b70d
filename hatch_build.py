"""Part of building the package: compile the native parts, so that users need no compiler; in a wheel also the
runtime's bytecode, so that every machine makes the same function."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeParts(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        package = root / "src" / "coldpress" / "package"
        _module("press_build", root / "native" / "build.py").main(package.parent)
        build_data["artifacts"] += [
            "src/coldpress/package/press/*.so",
            "src/coldpress/emulate/world/launch-*",
            "src/coldpress/cost/simulate/*.so",
        ]
        build_data["pure_python"] = True
        if version == "editable":  # its sources change, so it compiles for itself
            return
        bytecode = _module("bytecode", package / "bytecode.py")
        bytecode.ship_runtime(root / "src" / "coldpress_runtime", package / bytecode.SHIPPED)
        build_data["artifacts"].append(f"src/coldpress/package/{bytecode.SHIPPED}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        (Path(self.root) / "src/coldpress/package/shipped_runtime.zip").unlink(missing_ok=True)


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
