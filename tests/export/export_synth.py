"""Runs CDK apps, all in one process, since starting CDK takes longer than what they do. Arguments: their folders.

The command line of CDK gives an app its context, and a place to write to, by variables that are read once for a
process. Here each gets its own: the context that lies in its folder, and cdk.out beside it. What an app refuses is
written to refused.txt.
"""

import json
import runpy
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

cdk: Any = import_module("aws_cdk")
made = cdk.App
for folder in map(Path, sys.argv[1:]):
    said = json.loads((folder / "cdk-context.json").read_text(encoding="utf-8"))
    cdk.App = partial(made, outdir=str(folder / "cdk.out"), context=said)
    try:
        runpy.run_path(str(folder / "app.py"), run_name="__main__")
    except ValueError as error:
        (folder / "refused.txt").write_text(str(error), encoding="utf-8")
