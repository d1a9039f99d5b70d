"""Press any PyTorch model into a serverless function that cold-starts in a blink."""

from coldpress.artifact import Artifact
from coldpress.build import build
from coldpress.errors import ColdpressError
from coldpress.version import __version__

__all__ = ["Artifact", "ColdpressError", "__version__", "build"]
