"""How messages become batches: what may be asked for, and what Lambda refuses."""

from dataclasses import dataclass

LARGEST_BATCH = 10_000
#: what SQS gives at once; more take several receives, and so a window
AT_ONCE = 10
LONGEST_WINDOW = 300
LEAST_CONCURRENCY, MOST_CONCURRENCY = 2, 1000


@dataclass(frozen=True)
class Batching:
    """The part of an event source mapping that its queue's messages feel."""

    #: messages in a batch at most
    size: int = AT_ONCE
    #: seconds that a batch waits for more messages after its first
    window: int = 0
    #: batches under way at once, at most
    concurrency: int = MOST_CONCURRENCY
    #: whether the function tells which messages failed (ReportBatchItemFailures); else they fail together
    reports: bool = True


def trouble_with(batching: Batching, *, fifo: bool, visibility: int, timeout: float) -> str:
    """Why Lambda would not take this for a queue and a function; empty if it would."""
    size, window = batching.size, batching.window
    refused = {
        f"the batch size is {size}: it can be from 1 to {LARGEST_BATCH}": not 1 <= size <= LARGEST_BATCH,
        f"the batching window is {window} s: it can be from 0 to {LONGEST_WINDOW} s": not 0
        <= window
        <= LONGEST_WINDOW,
        f"the batching window is {window} s: a FIFO queue has none, leave it at 0": fifo and window > 0,
        f"the batch size is {size}: of a FIFO queue it can be at most {AT_ONCE}": fifo and size > AT_ONCE,
        f"the batch size is {size} and the batching window 0 s: batches of more than {AT_ONCE} need a window "
        "of at least 1 s": size > AT_ONCE and window == 0,
        f"Queue visibility timeout: {visibility} seconds is less than Function timeout: {timeout:g} seconds: "
        "a message would come again while it is worked on; Lambda's advice is six times the "
        "function's": visibility < timeout,
    }
    return next((words for words, holds in refused.items() if holds), "")
