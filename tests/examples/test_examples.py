"""The examples, run as their READMEs say; what they print is what the READMEs show."""

import json
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from time import monotonic

import pytest
from fenced import ROOT, blocks, run_page

EXAMPLES = ROOT / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def run_example(name: str, place: Path) -> tuple[Path, list[str]]:
    """The README, run in a copy of its folder: that copy, and what each command printed."""
    made = (EXAMPLES / ".gitignore").read_text().replace("/\n", "\n").splitlines()
    copy = shutil.copytree(EXAMPLES / name, place / name, ignore=shutil.ignore_patterns(*made))
    return copy, run_page(copy / "README.md", copy)


def test_every_example_is_in_the_table() -> None:
    table = (EXAMPLES / "README.md").read_text()
    assert re.findall(r"^\| \[(\w+)\]\(\1/\) \|", table, flags=re.MULTILINE) == [
        *("search", "classifier", "pictures", "custom_class", "streaming")
    ]
    assert sorted(NAMES) == sorted(["search", "classifier", "pictures", "custom_class", "streaming"])


@pytest.mark.parametrize("name", NAMES)
def test_every_readme_shows_what_its_files_are(name: str) -> None:
    """Links lead somewhere, and there is something to run, with something to see."""
    page = EXAMPLES / name / "README.md"
    for link in re.findall(r"\]\(([\w./]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link
    assert {"sh", "text"} <= {block.kind for block in blocks(page)}


@pytest.mark.slow
def test_search(tmp_path: Path) -> None:
    _, (_, found) = run_example("search", tmp_path)
    best = [lines.splitlines()[1] for lines in found.split("\n\n")[1:]]
    words = ["Refunds", "forgotten password", "follow a shipment"]
    for line, word in zip(best, words, strict=True):
        assert word in line and float(line.split()[0]) > 0.4


@pytest.mark.slow
def test_classifier(tmp_path: Path) -> None:
    folder, (*_, answer) = run_example("classifier", tmp_path)
    assert json.loads(answer)[0]["score"] > 0.9
    known = (folder / "mails.tsv").read_text()
    assert not [mail for mail in (folder / "new_mails.txt").read_text().splitlines() if mail in known]


@pytest.mark.slow
def test_pictures(tmp_path: Path) -> None:
    _, (_, _, answers, posted) = run_example("pictures", tmp_path)
    for line in answers.splitlines():
        assert json.loads(line)[0]["score"] > 0.8
    assert json.loads(posted)[0] == json.loads(answers.splitlines()[-1])[0]


@pytest.mark.slow
def test_custom_class(tmp_path: Path) -> None:
    _, (_, answer, refused) = run_example("custom_class", tmp_path)
    assert json.loads(answer)["sentences_read"] == 8, "neither St. nor p.m. ends a sentence"
    assert json.loads(refused)["error"]["code"] == "missing_text"


@pytest.mark.slow
def test_streaming(tmp_path: Path) -> None:
    folder, (_, lines, watched) = run_example("streaming", tmp_path)
    *passages, answer = map(json.loads, lines.splitlines())
    assert max(passages, key=lambda piece: piece["nearness"])["passage"] == 7
    assert answer["answer"].startswith("In the pantry she reached for the plum jam")
    check_spread([float(line.split()[0]) for line in watched.splitlines()])
    # The client's clock is one thing; when the lines really come out of a pipe is another.
    command = [COLDPRESS, "invoke", str(folder / "out"), "--data", '{"question": "a key"}', "--stream"]
    command += ["--memory", "256"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as asked:
        assert asked.stdout is not None
        check_spread([1000 * monotonic() for _ in asked.stdout])


def check_spread(times: list[float]) -> None:
    """Milliseconds of sixteen pieces: what is collected first and sent then would come at one moment."""
    assert len(times) == 16
    apart = [later - earlier for earlier, later in pairwise(times)]
    assert min(apart) >= 0
    assert sum(gap >= 1 for gap in apart) >= 8
    assert max(apart) <= 0.6 * (times[-1] - times[0])
