"""The report: the evidence on one page, for who decides and for who wants to know."""

import json
import os
from pathlib import Path

from coldpress.errors import TargetError
from coldpress.report.gather import Evidence
from coldpress.report.page import render

HTML, JSON = "report.html", "report.json"


def write_report(evidence: Evidence, folder: Path) -> tuple[Path, Path]:
    """report.html and report.json, each whole or not at all."""
    page = render(evidence)
    return (
        _write(folder / HTML, page),
        _write(folder / JSON, json.dumps(evidence.as_json(), indent=1, ensure_ascii=False) + "\n"),
    )


def _write(path: Path, text: str) -> Path:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
    return path
