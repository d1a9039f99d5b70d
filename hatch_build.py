"""Part of building the package: compile the press library, so that users need no compiler."""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PressLibrary(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        spec = importlib.util.spec_from_file_location("press_build", root / "native" / "build.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.main(root / "src" / "coldpress" / "package" / "press")
        build_data["artifacts"].append("src/coldpress/package/press/*.so")
        build_data["pure_python"] = True
