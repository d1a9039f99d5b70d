"""A model whose class comes with it: never run unless asked, and then at one commit and without our secrets."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from coldpress.errors import UsageError
from coldpress.intake.source import Options

COLDPRESS = str(Path(sys.executable).parent / "coldpress")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CODE = """
import os, pathlib
import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

pathlib.Path(os.environ["PROOF"]).write_text(repr(dict(os.environ)))


class OddConfig(PretrainedConfig):
    model_type = "odd"

    def __init__(self, hidden_size=32, vocab_size=30522, max_position_embeddings=64, **rest):
        super().__init__(**rest)
        self.hidden_size, self.vocab_size = hidden_size, vocab_size
        self.max_position_embeddings = max_position_embeddings


class OddModel(PreTrainedModel):
    config_class = OddConfig

    def __init__(self, config):
        super().__init__(config)
        self.words = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.mix = torch.nn.Linear(config.hidden_size, config.hidden_size)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, **rest):
        return BaseModelOutput(last_hidden_state=torch.tanh(self.mix(self.words(input_ids))))
"""


@pytest.fixture
def hub(tiny_folder: Path, tmp_path: Path) -> dict[str, str]:
    """An environment with a hub that holds `someone/odd` already, and with secrets."""
    cache = tmp_path / "hub"
    folder = cache / "models--someone--odd" / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (tiny_folder / name).exists():
            shutil.copy(tiny_folder / name, folder)
    config = {
        "architectures": ["OddModel"],
        "model_type": "odd",
        "auto_map": {"AutoConfig": "code.OddConfig", "AutoModel": "code.OddModel"},
        "hidden_size": 32,
        "vocab_size": 30522,
        "max_position_embeddings": 64,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text(CODE)
    torch.manual_seed(0)
    weights = {
        "words.weight": torch.randn(30522, 32),
        "mix.weight": torch.randn(32, 32) / 6,
        "mix.bias": torch.zeros(32),
    }
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return os.environ | {
        "HF_HUB_CACHE": str(cache),
        "HF_HUB_OFFLINE": "1",
        "PROOF": str(tmp_path / "proof"),
        "COLDPRESS_CACHE": str(tmp_path / "cache"),
        "AWS_SECRET_ACCESS_KEY": "do not tell",
        "HF_TOKEN": "hf_do_not_tell",
    }


def build(hub: dict[str, str], out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COLDPRESS, "build", "someone/odd", "--out", str(out), "--quick", "--package", "none", *flags],
        env=hub,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_does_not_run_unasked(hub: dict[str, str], tmp_path: Path) -> None:
    done = build(hub, tmp_path / "out", "--revision", COMMIT)
    assert done.returncode == 1
    assert "--trust-remote-code" in done.stderr
    assert not Path(hub["PROOF"]).exists()
    assert not (tmp_path / "out").exists()


def test_it_runs_at_its_commit_without_secrets(hub: dict[str, str], tmp_path: Path) -> None:
    done = build(hub, tmp_path / "out", "--revision", COMMIT, "--trust-remote-code", "--task", "embeddings")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out/coldpress.json").read_text())
    (model,) = manifest["models"].values()
    assert COMMIT in model["code_that_ran"]
    assert model["drift"]["total"] <= 0.15
    seen = Path(hub["PROOF"]).read_text()
    assert "PROOF" in seen
    assert "do not tell" not in seen
    assert "hf_do_not_tell" not in seen


def test_the_quarantine_has_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coldpress.intake import quarantine

    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    monkeypatch.setenv("HF_TOKEN", "secret")
    seen: dict[str, str] = {}

    def run(command: list[str], env: dict[str, str], **rest: Any) -> Any:
        seen.update(env)
        return subprocess.CompletedProcess(command, 3, "", "UsageError: as it is")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(UsageError, match="as it is"):
        quarantine.build_inside({"model": "x"})
    assert "secret" not in seen.values()
    assert seen["HOME"] != os.environ.get("HOME")


def test_remote_code_needs_a_commit() -> None:
    for revision in (None, "main", "abc123"):
        with pytest.raises(UsageError, match="the 40 digits of a commit"):
            Options(trust_remote_code=True, revision=revision)
    Options(trust_remote_code=True, revision="a" * 40)
