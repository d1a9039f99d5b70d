"""Dockerfiles, for those who build images with tools of their own: the function's, and a classic one with torch.

Both have two stages. The first takes files with whatever modes a checkout gave them and makes them readable to
Lambda's sandbox user; what goes on is copied from there, so that nothing else of the first stage is in the image.
"""

import re
from pathlib import Path

from coldpress.errors import TargetError
from coldpress.package.oci.base import PLATFORMS, SCRATCH, default_base
from coldpress.package.oci.image import LAYERS, layer_of
from coldpress.package.oci.layer import ROOT
from coldpress.package.oci.reference import Reference

DOCKERFILE = "Dockerfile"
IGNORE = ".dockerignore"
CLASSIC = "Dockerfile.classic"
_FUNCTION = "function"
#: without a shell and without find, which a base may lack: 0755 for folders, 0644 for files, whatever they had
_MODES = "a-x,u=rwX,go=rX"

_HEAD = """\
# The function {name}, which runs on {engine}, as an image for AWS Lambda on {arch}. Written by coldpress.
#
#   docker buildx build --platform {platform} --provenance=false --sbom=false -t {tag} .
#   podman build --format oci --timestamp 0 -t {tag} .
#
# Provenance and sbom would make an index of it, and Lambda refuses an index. Podman finds the platform below,
# and is given none: older ones would run the first stage on it too, by emulation. Its --format docker is as good.
# BASE can be any image with {python}. BUILDER does the first stage's work, and needs nothing but chmod.
ARG BASE={base}
ARG BUILDER={builder}
"""

_BUILDER = """
# On the machine's own platform: nothing of the other one is ever run.
FROM --platform=${BUILDPLATFORM} ${BUILDER} AS builder
USER 0
"""

_PRODUCTION = """
# A layer each, from what changes least to what changes most: another model changes the last one only.
FROM --platform={platform} ${{BASE}} AS lambda_{machine}
{copies}
WORKDIR /{root}
LABEL com.amazonaws.lambda.feature.snapstart="Allow"
ENTRYPOINT ["/{root}/bootstrap"]
CMD []
"""

_CLASSIC = """\
# A TorchScript model with PyTorch itself as an image for AWS Lambda, for what must keep it. Written by coldpress.
#
#   docker buildx build --platform linux/amd64 --provenance=false --sbom=false -f {file} -t classic .
#   podman build --platform linux/amd64 --format docker -f {file} -t classic .
#
# It takes model.pt and handler.py from beside this file. --build-arg TORCH_INDEX=… adds the index of CPU wheels
# that PyTorch's install page names: without it, torch may come with CUDA, gigabytes that Lambda has no use for.
# Provenance and sbom would make an index of the image, and Lambda refuses an index.
ARG BASE={base}

FROM ${{BASE}} AS builder
USER 0
ARG TORCH_INDEX=
RUN python3 -m pip install --no-cache-dir --target /asset/packages \\
    ${{TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"}} awslambdaric torch
COPY handler.py model.pt /asset/own/
RUN ["chmod", "-R", "{modes}", "/asset/own"]

# Packages first: another model changes the last layer only.
FROM ${{BASE}} AS classic
COPY --from=builder /asset/packages/ /{root}/
COPY --from=builder /asset/own/ /{root}/
WORKDIR /{root}
LABEL com.amazonaws.lambda.feature.snapstart="Allow"
ENTRYPOINT ["python3", "-m", "awslambdaric"]
CMD ["handler.handler"]
"""

_HANDLER = '''\
"""A TorchScript model on AWS Lambda: {"inputs": [[…]]} in, {"outputs": [[…]]} out, directly or over HTTP."""

import base64
import json
import os

import torch

# Once per sandbox, while it starts: requests find the model loaded.
_model = torch.jit.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.pt"), map_location="cpu")
_model.eval()


def handler(event, context):
    # Function URLs, API Gateway and load balancers bring the request as text; other events are the request itself.
    if not (isinstance(event, dict) and "requestContext" in event):
        return predict(event)
    try:
        body = event.get("body") or ""
        request = json.loads(base64.b64decode(body) if event.get("isBase64Encoded") else body)
        status, answer = 200, predict(request)
    except ValueError as error:
        status, answer = 400, {"error": str(error)}
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(answer),
    }


def predict(request):
    if not (isinstance(request, dict) and "inputs" in request):
        raise ValueError('a request is {"inputs": [[…]]}')
    try:
        inputs = torch.tensor(request["inputs"], dtype=torch.float32)  # token ids want torch.int64
    except (TypeError, RuntimeError, OverflowError) as error:
        raise ValueError(f"inputs: {error}") from None
    with torch.inference_mode():
        return {"outputs": _model(inputs).tolist()}
'''


def write_dockerfile(staging: Path, name: str, engine: str | None, arch: str, python: str, base: str) -> None:
    """Beside `function/`, what makes an image of it, and what keeps everything else out of it."""
    if base != SCRATCH:
        Reference.parse(base)  # an error if it is none
    head = _HEAD.format(
        name=" ".join(name.split()),
        engine=engine or "no engine",
        arch=arch,
        platform=f"linux/{PLATFORMS[arch]}",
        tag=re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "function",
        python="Python" if python == "any" else f"Python {python}",
        base=base,
        builder=default_base(python) if base == SCRATCH else "${BASE}",  # nothing runs where nothing is
    )
    parts = {title: names for title, names in _split(staging / _FUNCTION).items() if names}
    builder = [_BUILDER]
    for title, names in parts.items():
        builder += [f"COPY {_FUNCTION}/{one} /asset/{title}/{one}\n" for one in names]
        builder.append(f'RUN ["chmod", "-R", "{_MODES}", "/asset/{title}"]\n')
        if "bootstrap" in names:
            builder.append(f'RUN ["chmod", "0755", "/asset/{title}/bootstrap"]\n')
    production = _PRODUCTION.format(
        platform=f"linux/{PLATFORMS[arch]}",
        machine=PLATFORMS[arch],
        copies="\n".join(f"COPY --from=builder /asset/{title}/ /{ROOT}/" for title in parts),
        root=ROOT,
    )
    (staging / DOCKERFILE).write_text(head + "".join(builder) + production, encoding="utf-8")
    (staging / IGNORE).write_text(f"*\n!{_FUNCTION}\n", encoding="utf-8")


def write_classic(folder: Path, python: str) -> None:
    """In `folder`, where somebody's model.pt is or will be: a Dockerfile, and a handler unless there is one."""
    text = _CLASSIC.format(file=CLASSIC, base=default_base(python), modes=_MODES, root=ROOT)
    _write_new(folder / CLASSIC, text)
    if not (folder / "handler.py").exists():
        _write_new(folder / "handler.py", _HANDLER)


def _split(function: Path) -> dict[str, list[str]]:
    """What lies in the function, by the image's layers."""
    parts: dict[str, list[str]] = {title: [] for title in LAYERS}
    for path in sorted(function.iterdir()):
        # Folders without files are left out: a layer of nothing is one layer too many.
        if path.is_file() or any(inner.is_file() for inner in path.rglob("*")):
            parts[layer_of(path.name)].append(path.name)
    return parts


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise TargetError(
            f"{path} is there already, and is not overwritten: move it, or choose a folder"
        ) from None
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}; choose another folder") from None
