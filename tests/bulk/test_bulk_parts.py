"""How a job is found, cut, kept and joined."""

import http.client
import json
import re
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.bulk.job import Chunk, Input, Job, check_same, fitting_chunk, read_job
from coldpress.bulk.joining import Joining
from coldpress.bulk.ledger import Done, Ledger
from coldpress.bulk.places import Bucketed, Pattern, local_inputs
from coldpress.bulk.store import Files, local_tag, serving
from coldpress.errors import TargetError, UsageError

ONE = Input("a.jsonl", "x/a.jsonl", 10_000, '"tag"')


@given(st.integers(0, 1 << 40).filter(lambda size: size < 1 << 22), st.integers(1024, 1 << 22))
def test_every_byte_is_in_one_stretch(size: int, each: int) -> None:
    chunks = [*Job((Input("a", "a", size, ""),), "m", each).chunks()]
    assert chunks[0].start == 0 and chunks[-1].stop == size
    assert all(one.stop == two.start for one, two in pairwise(chunks))
    assert len({chunk.part for chunk in chunks}) == len(chunks)
    assert sorted(chunk.part for chunk in chunks) == [chunk.part for chunk in chunks]


@pytest.mark.parametrize(
    ("pattern", "key", "name"),
    [
        ("*.jsonl", "a.jsonl", "a.jsonl"),
        ("*.jsonl", "b/a.jsonl", None),
        ("2026/*.jsonl", "2026/a.jsonl", "a.jsonl"),
        ("2026/*/x?.jsonl", "2026/07/x1.jsonl", "07/x1.jsonl"),
        ("2026/*/x?.jsonl", "2026/07/08/x1.jsonl", None),
        ("2026/**/x.jsonl", "2026/x.jsonl", "x.jsonl"),
        ("2026/**/x.jsonl", "2026/a/b/x.jsonl", "a/b/x.jsonl"),
        ("2026/", "2026/a/b.jsonl", "a/b.jsonl"),
        ("2026/", "2026/a/b.json", None),
        ("2026/a[1].jsonl", "2026/a[1].jsonl", "a[1].jsonl"),
        ("", "deep/a.jsonl", "deep/a.jsonl"),
    ],
)
def test_patterns(pattern: str, key: str, name: str | None) -> None:
    assert Pattern.parse(pattern).name_of(key) == name


@given(st.text(alphabet="ab*?/.[", max_size=12), st.text(alphabet="ab/.[", max_size=12))
def test_a_name_is_the_end_of_its_key(pattern: str, key: str) -> None:
    parsed = Pattern.parse(pattern)
    name = parsed.name_of(key)
    assert name is None or parsed.base + name == key


@pytest.mark.parametrize("text", ["", "s3:/a", "s3://", "s3://A", "bucket/key", "https://x", "s3://a_b/c"])
def test_places_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="is no place in a bucket"):
        Bucketed.parse("--to", text)


def test_files_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("in/a.jsonl", "in/b.txt", "in/deep/c.jsonl", "in/out/a.jsonl", "in/.coldpress/x.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n")

    def names(text: str) -> list[str]:
        return [one.name for one in local_inputs(text, Path("in/out"))[1]]

    assert names("in") == names("in/") == names("in/**.jsonl") == ["a.jsonl", "deep/c.jsonl"]
    assert names("in/*.jsonl") == names("in/a.jsonl") == ["a.jsonl"]
    assert names("in/*/c.jsonl") == ["deep/c.jsonl"]
    with pytest.raises(UsageError, match="no file is named by"):
        names("in/*.json")
    with pytest.raises(UsageError, match="is where the inputs are"):
        local_inputs("in", Path("in"))
    with pytest.raises(UsageError, match="leave out --local"):
        local_inputs("s3://in/*", Path("out"))


def test_a_job_is_read_as_it_was_written() -> None:
    job = Job((ONE, Input("ü", "ü", 0, "")), "m" * 64, 4096)
    assert read_job(job.text(), "here") == job


@given(
    st.one_of(
        st.binary(max_size=40),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["format", "inputs", "model", "chunk_bytes", "name"]), inner, max_size=4
                )
            ),
            max_leaves=8,
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_whatever_job_json_holds(content: bytes) -> None:
    try:
        read_job(content, "here")
    except UsageError as error:
        assert "here" in str(error) or "--chunk" in str(error)


def test_a_job_goes_on_with_the_same_alone() -> None:
    job = Job((ONE,), "m1", 4096)
    check_same(job, Job((ONE,), "m1", 8192), "out")
    for other, match in (
        (Job((ONE,), "m2", 4096), "another model"),
        (Job((Input("a.jsonl", "x/a.jsonl", 10_000, '"other"'),), "m1", 4096), "a.jsonl has changed"),
        (Job((ONE, Input("b", "b", 1, "")), "m1", 4096), "b is new"),
        (Job((Input("c", "c", 1, ""), Input("d", "d", 1, "")), "m1", 4096), "a.jsonl is gone, and 2 more"),
    ):
        with pytest.raises(UsageError, match=re.escape(match)):
            check_same(job, other, "out")


def test_a_small_job_is_cut_small() -> None:
    assert fitting_chunk([ONE], 2) == 8192
    assert fitting_chunk([Input("a", "a", 1 << 21, "")], 2) == 65536
    assert fitting_chunk([Input("a", "a", 1 << 40, "")], 2) == 131072


def test_a_ledger_forgets_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "done.jsonl"
    first = Ledger(path)
    first.add(Done("a/part-00000.jsonl", 5, 1, 0))
    first.close()
    path.write_bytes(path.read_bytes() + b'{"part": "a/par')
    second = Ledger(path)
    second.add(Done("a/part-00001.jsonl", 6, 1, 1))
    second.close()
    third = Ledger(path)
    third.close()
    assert [one.size for one in third.done.values()] == [5, 6]
    path.write_bytes(b"no json\n")
    with pytest.raises(TargetError, match="damaged at line 1"):
        Ledger(path)


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=6), st.data())
def test_joining_goes_on_wherever_it_was_killed(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], data: st.DataObject
) -> None:
    """Killed in the middle of a copy: the file that grows is too long by a piece, and the part is still there."""
    folder = tmp_path_factory.mktemp("join")
    one = Input("a.jsonl", "a.jsonl", 1024 * len(parts), "")
    chunks = [Chunk(one, number, 0, 0) for number in range(len(parts))]
    with closing(Ledger(folder / "done.jsonl")) as ledger:
        order = data.draw(st.permutations(range(len(parts))))
        for number in order:
            path = folder / "parts" / chunks[number].part
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(parts[number])
            ledger.add(Done(chunks[number].part, len(parts[number]), 1, 0))
            join = Joining(chunks, ledger, folder / "a.jsonl", folder / "parts")
            growing = folder / "parts" / "a.jsonl" / "joined"
            left = [at for at in range(len(parts)) if (folder / "parts" / chunks[at].part).exists()]
            if growing.exists() and left and data.draw(st.booleans()):
                following = parts[left[0]] if join.is_done(chunks[left[0]]) and not join.is_whole() else b""
                with growing.open("ab") as file:
                    file.write(following[: data.draw(st.integers(0, max(0, len(following) - 1)))])
                join = Joining(chunks, ledger, folder / "a.jsonl", folder / "parts")
            join.advance()
        assert join.is_whole() and (folder / "a.jsonl").read_bytes() == b"".join(parts)
        assert Joining(chunks, ledger, folder / "a.jsonl", folder / "parts").is_whole()
        assert not [path for path in (folder / "parts").rglob("*") if path.is_file()]


def test_the_bucket_is_the_jobs_own(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(b"0123456789")
    files = Files({"a.jsonl": (source, local_tag(source))}, {"a/part": tmp_path / "out" / "a" / "part"})
    with serving(files) as store:
        good = {"authorization": f"AWS4-HMAC-SHA256 Credential={store.key}/x", "if-match": local_tag(source)}

        def ask(method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection(urlsplit(store.url).netloc)
            connection.request(method, path, body or None, {**good, **headers})
            response = connection.getresponse()
            found = response.status, response.read()
            connection.close()
            return found

        assert ask("GET", "/from/a.jsonl", range="bytes=2-4") == (206, b"234")
        assert ask("GET", "/from/a.jsonl", range="bytes=8-99") == (206, b"89")
        for wrong in ("bytes=10-12", "bytes=-5", "bytes=a-b", ""):
            assert ask("GET", "/from/a.jsonl", range=wrong)[0] == 416
        for path in (
            "/from/b.jsonl",
            "/from/../a.jsonl",
            "/to/a.jsonl",
            "/from/%2e%2e/%2e%2e/etc/passwd",
            "/",
            "//",
        ):
            assert ask("GET", path, range="bytes=0-1")[0] == 404
        assert ask("GET", "/from/a.jsonl", range="bytes=0-1", authorization="Credential=other/")[0] == 403
        assert ask("PUT", "/to/a/part", b"answers")[0] == 200
        assert (tmp_path / "out" / "a" / "part").read_bytes() == b"answers"
        assert ask("PUT", "/to/a/other", b"answers")[0] == 404
        assert [path.name for path in (tmp_path / "out" / "a").iterdir()] == ["part"]
        source.write_bytes(b"9876543210!")
        assert ask("GET", "/from/a.jsonl", range="bytes=0-1")[0] == 412
