"""What benchmarks/soak.py does with 100,000 requests, with 3,000."""

import pytest

from coldpress.artifact import Artifact
from soak import soak


@pytest.mark.slow
def test_a_sandbox_that_serves_thousands_does_not_grow(artifact: Artifact) -> None:
    result = soak(artifact.function_folder, 3000)
    assert not result["wrong"], result
