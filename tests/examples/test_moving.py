"""docs/moving.md, walked from its first step to its last; what needs an account is read, and not run."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from fenced import ROOT, blocks, run_page

from coldpress.cli import app

PAGE = ROOT / "docs" / "moving.md"


@pytest.mark.slow
def test_every_step(tmp_path: Path, minilm_folder: Path) -> None:
    (tmp_path / "model").symlink_to(minilm_folder)
    _, _, _, _, compared, invoked, served, benched, sized, deployed, _ = run_page(PAGE, tmp_path)
    assert min(map(float, re.findall(r"cosine (\S+)", compared))) > 0.98
    answer = json.loads(invoked)
    assert answer["statusCode"] == 200 and len(json.loads(answer["body"])["vectors"]) == 2
    assert served.startswith('{"vectors": [[')
    assert "classic" in benched and "against Lambda's limits" in sized
    found = json.loads(deployed[deployed.index("{") :])
    assert found["versions"] == ["1", "2"] and found["live"] == "1" and found["weights"] == {}


def test_what_needs_an_account_is_spelled_right() -> None:
    lines = [line for block in blocks(PAGE) if block.kind == "sh aws" for line in block.text.splitlines()]
    assert len(lines) == 6
    for line in lines:
        program, name, *arguments = shlex.split(line)
        assert program == "coldpress"
        with click.Context(app) as outer:
            command = app.get_command(outer, name)
            assert command is not None, name
            command.make_context(name, arguments, parent=outer, resilient_parsing=True)


def test_what_is_mentioned_exists() -> None:
    """Options anywhere on the page are options of some command, and links lead somewhere."""
    text = PAGE.read_text()
    with click.Context(app) as outer:
        commands = [app.get_command(outer, name) for name in app.list_commands(outer)]
    known = {name for one in commands if one for option in one.params for name in option.opts}
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", prose)) <= known
    for link in re.findall(r"\]\(([\w./-]+)(?:#\w+)?\)", text):
        assert (PAGE.parent / link).exists(), link
