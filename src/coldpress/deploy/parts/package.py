"""What a function is made from, however it comes to AWS."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coldpress.deploy.steps import Step


@dataclass(frozen=True)
class Package:
    #: as Lambda names it: base64 of a zip's SHA-256, or the digits of an image's digest
    code: str
    megabytes: float
    #: the steps before a function can be given it; reads when it is asked
    steps: Callable[[], list[Step]]
    #: how calls name it
    named: Callable[[], dict[str, Any]]
