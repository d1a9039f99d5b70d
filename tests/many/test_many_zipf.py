"""Ten models in one function whose memory holds three: right answers, bounded memory, an ideal LRU's hits."""

import json
import random
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from posix import environ
from statistics import median
from time import perf_counter, sleep

import pytest
from many_models import Share, variant

import coldpress
from coldpress.artifact import Artifact
from coldpress.emulate.sandbox import Sandbox
from coldpress_runtime.many.choice import Many
from coldpress_runtime.model import open_model
from coldpress_runtime.tasks import open_task

MODELS, HELD, REQUESTS, TEXTS = 10, 3, 5000, 12
NAMES = [f"m{number}" for number in range(MODELS)]
PAGE = 4096


@pytest.fixture(scope="module")
def ten(artifact: Artifact, share: Share) -> Path:
    """Each model's own artifact, and `all` of them as one."""

    def fill(folder: Path) -> None:
        folder.mkdir()
        models = {name: variant(artifact, number, folder / name) for number, name in enumerate(NAMES)}
        coldpress.build(models=models, out=folder / "all", package="none")

    return share("ten", fill)


def bound_mb(ten: Path) -> int:
    """Room for three of them, and not for four."""
    index = json.loads((ten / "all" / "function" / "models" / "index.json").read_text())
    each = max(one["memory"] for one in index["models"].values())
    return int(each * (HELD + 0.5) / 1e6)


@contextmanager
def watched(pid: int) -> Iterator[list[int]]:
    """The resident memory of a process, again and again."""
    seen, stop = [resident(pid)], threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.append(resident(pid))
            sleep(0.001)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def ideal_hits(names: list[str]) -> int:
    held: OrderedDict[str, None] = OrderedDict()
    hits = 0
    for name in names:
        hits += name in held
        held[name] = None
        held.move_to_end(name)
        while len(held) > HELD:
            held.popitem(last=False)
    return hits


@pytest.mark.slow
def test_five_thousand_requests(ten: Path) -> None:
    """The longest texts are rare, and fill a model's whole workspace."""
    chance = random.Random(7)
    texts = [{"text": "word " * (1 + 3 * number)} for number in range(TEXTS - 1)] + [{"text": ["w " * 200] * 8}]
    expected = {}
    for name in NAMES:
        ask = Artifact.open(ten / name).function()
        for number, text in enumerate(texts):
            expected[name, number] = ask(text)
    weights = [1 / (rank + 1) for rank in range(MODELS)]
    asked = chance.choices(NAMES, weights, k=REQUESTS)
    bound = bound_mb(ten)
    env = {"COLDPRESS_MODEL_MEMORY": str(bound), "COLDPRESS_METRICS": "on"}
    with Sandbox(ten / "all" / "function", env=env) as sandbox:
        assert b"model_not_found" in sandbox.invoke(b'{"model": "none", "text": "hi"}').body
        before = resident(sandbox.pid)
        with watched(sandbox.pid) as seen:
            for name in asked:
                number = chance.choices(range(TEXTS), [10] * (TEXTS - 1) + [1])[0]
                answer = sandbox.invoke(json.dumps({"model": name, **texts[number]}).encode())
                assert answer.ok and json.loads(answer.body) == expected[name, number], (name, number)
        sandbox.invoke(b"{}")  # a line is written after its answer, and before the next request is taken
        log = sandbox.log()
    lines = [json.loads(line) for line in log.splitlines() if '"_aws"' in line][: REQUESTS + 1]
    hits = sum(line["CacheHit"] for line in lines if "CacheHit" in line)
    rate, ideal = hits / REQUESTS, ideal_hits(asked) / REQUESTS
    sys.stdout.write(f"hits {rate:.4f}, ideal {ideal:.4f}; {(max(seen) - before) / 1e6:.1f} of {bound} MB\n")
    assert len(lines) == REQUESTS + 1 and len(seen) > 1000
    assert abs(rate - ideal) <= 0.03
    assert max(seen) - before <= bound * 1e6
    assert {line["Model"] for line in lines[1:]} == set(NAMES)


def test_first_use_of_a_cold_model(ten: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most half as long again as the model alone takes, though another one has to go for it."""
    monkeypatch.setitem(environ, b"COLDPRESS_MODEL_MEMORY", str(bound_mb(ten)).encode())
    root = ten / "all" / "function"
    libraries = (str(root / "lib"),)
    many = Many(str(root / "models"), libraries)
    request = {"text": "hi there"}
    for name in NAMES:
        many.plain({"model": name, **request}, 1 << 20)
    alone, shared, opened, borrowed = [], [], [], []
    for turn in range(6 * MODELS):
        began = perf_counter()
        model = open_model(str(root / "models" / NAMES[(turn + MODELS // 2) % MODELS]), libraries, 1)
        task = open_task(model)
        opened.append(perf_counter() - began)
        task.routes["/"](request, 1 << 20)
        alone.append(perf_counter() - began)
        model.session.close()
        began = perf_counter()
        lent = many.shelf.borrow(NAMES[turn % MODELS])
        borrowed.append(perf_counter() - began)
        assert lent.task is not None
        lent.task.routes["/"](request, 1 << 20)
        shared.append(perf_counter() - began)
        many.shelf.give_back(lent)
    assert many.shelf.hits == 0
    sys.stdout.write(f"first use {1e3 * median(shared):.2f}, alone {1e3 * median(alone):.2f} ms\n")
    sys.stdout.write(f"opening {1e3 * median(borrowed):.2f}, alone {1e3 * median(opened):.2f} ms\n")
    assert median(shared) <= 1.5 * median(alone)
    assert len(many.shelf.open_names) == HELD
