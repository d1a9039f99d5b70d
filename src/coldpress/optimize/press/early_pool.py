"""A model that answers with one token's vector needs no other token after its last attention.

Then pooling, which takes that token's row, comes right after it. All that follows treats rows by themselves, so
the answers stay the same to the bit, and most of the last layer is not computed for rows that nobody reads.
"""

from dataclasses import replace

from coldpress.optimize.press.file import (
    ATTEND,
    BUFFERS,
    FLOAT_LINEAR,
    LINEAR,
    NORMALIZE,
    POOL,
    POOLS,
    Op,
    PressFile,
)

_OF_ONE_TOKEN = (POOLS["cls"], POOLS["lasttoken"])


def pool_early(file: PressFile) -> bool:
    """Move the pooling of `file` to just behind its last attention, if one token is all it takes."""
    pools = [at for at, op in enumerate(file.ops) if op.kind == POOL]
    attends = [at for at, op in enumerate(file.ops) if op.kind == ATTEND]
    if len(pools) != 1 or not attends or file.ops[pools[0]].activation not in _OF_ONE_TOKEN:
        return False
    (end,), start = pools, attends[-1] + 1
    pool, last_layer = file.ops[end], file.ops[start:end]
    needed = _read_before_written([*last_layer, pool])
    if len(file.widths) + len(needed) > BUFFERS or file.widths[pool.target] != pool.inputs:
        return False
    rows = {buffer: file.buffer(file.widths[buffer]) for buffer in needed}
    pooling = [
        replace(pool, source=buffer, target=row, inputs=file.widths[buffer]) for buffer, row in rows.items()
    ]
    after = rows | {pool.target: rows.get(pool.source, pool.source)}
    attend = replace(file.ops[start - 1], only=pool.activation)
    file.ops = [
        *file.ops[: start - 1],
        attend,
        *pooling,
        *(_renamed(op, rows) for op in last_layer),
        *(_renamed(op, after) for op in file.ops[end + 1 :]),
    ]
    return True


def _reads(op: Op) -> tuple[int, ...]:
    if op.kind in (LINEAR, FLOAT_LINEAR):
        return op.source, op.residual
    return (op.target,) if op.kind == NORMALIZE else (op.source,)


def _read_before_written(ops: list[Op]) -> list[int]:
    written: set[int] = set()
    found: dict[int, None] = {}
    for op in ops:
        found |= {buffer: None for buffer in _reads(op) if buffer < BUFFERS and buffer not in written}
        written.add(op.target)
    return list(found)


def _renamed(op: Op, names: dict[int, int]) -> Op:
    source, target, residual = (names.get(buffer, buffer) for buffer in (op.source, op.target, op.residual))
    return replace(op, source=source, target=target, residual=residual)
