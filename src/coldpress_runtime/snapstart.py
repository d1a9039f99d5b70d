"""SnapStart: everything that can be done once is done before the snapshot, then the restored copy says so."""

from coldpress_runtime import log
from coldpress_runtime.runtime_api import Lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldpress_runtime.function import Function
    from coldpress_runtime.runtime_api import RuntimeApi


def rest(api: "RuntimeApi", function: "Function") -> None:
    """Answer a request, so that its pages are in the snapshot too, and wait to be restored."""
    try:
        function.handle({"text": "warm"})  # whoever reads no text refuses it, and has been woken as well
    except Exception as trouble:  # the first real request will tell it to somebody
        log.error("the request before the snapshot failed", "init", trouble)
    status = api.restored()
    if status != 200:
        raise Lost(f"/restore/next answered {status}")
    # The connection of before the snapshot leads nowhere.
    api.close()
