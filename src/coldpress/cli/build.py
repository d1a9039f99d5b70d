"""coldpress build"""

import json
from pathlib import Path

import click

from coldpress.artifact import Artifact
from coldpress.errors import UsageError

PATH = click.Path(exists=True, dir_okay=False, path_type=Path)
#: of an example on the command line: a picture in base64 is none
_LONGEST = 300


@click.command()
@click.argument("model", required=False)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write the artifact to.")
@click.option("--name", help="Name of the function. Default: the model's own.")
@click.option("--task", metavar="TASK", help="What the model is for. Default: as its files say.")
@click.option(
    "--precision", type=click.Choice(["auto", "int8", "fp16", "fp32"]), default="auto", show_default=True
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "press", "onnxruntime", "torch"]),
    default="auto",
    show_default=True,
    help="auto takes the fastest whose answers are right.",
)
@click.option("--arch", type=click.Choice(["x86_64", "arm64"]), help="Lambda's CPU. Default: like this one.")
@click.option("--quick", is_flag=True, help="Press if it is right, else the better of the two best known.")
@click.option("--recipe", type=PATH, help="A coldpress.json whose choice to repeat, without measuring.")
@click.option("--samples", type=PATH, help="JSON Lines, a request on each, to judge answers by.")
@click.option(
    "--pooling",
    metavar="MODE",
    help="mean, cls, max, … or none for a vector per token. Default: the model's.",
)
@click.option("--max-tokens", type=int, help="Longest text that counts, in tokens. Default: the model's.")
@click.option(
    "--max-drift", type=float, help="How far int8 answers may drift from the original's.  [default: 0.15]"
)
@click.option("--revision", help="Commit, tag or branch of a hub model.")
@click.option("--module", metavar="FACTORY", help="package.module:factory or file.py:factory of your own module.")
@click.option("--inputs", type=PATH, help="Tensors that a module is called with: .pt, .safetensors or .npz.")
@click.option("--dynamic", metavar="INPUT:AXIS,…", help="Axes of inputs that vary. Default: the first.")
@click.option("--allow-torchscript", is_flag=True, help="Open a TorchScript archive, which runs its own code.")
@click.option("--trust-remote-code", is_flag=True, help="Run a hub model's own code; needs --revision COMMIT.")
@click.option(
    "--package",
    type=click.Choice(["auto", "zip", "image", "none"]),
    default="auto",
    show_default=True,
    help="auto makes a zip where one fits, else an image.",
)
@click.option(
    "--base", metavar="IMAGE", help="What an image is built on. Default: AWS's Python; scratch for nothing."
)
@click.option("--layer", is_flag=True, help="Put the engine into a layer of its own, for many functions.")
@click.option(
    "--models",
    multiple=True,
    metavar="NAME=MODEL,…",
    help="Several models, one function: models or artifacts by name, or a folder of artifacts.",
)
@click.option(
    "--default", metavar="NAME", help="Which of --models answers requests that name none. Default: none."
)
@click.option("--tenants", type=PATH, help="JSON that says who may use which of --models.")
@click.option(
    "--models-at",
    default="package",
    show_default=True,
    metavar="PLACE",
    help="Where --models lie: package, layer, or s3://BUCKET/PREFIX.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest instead of the artifact's path.")
def build(
    model: str | None,
    out: Path,
    name: str | None,
    task: str | None,
    precision: str,
    engine: str,
    arch: str | None,
    quick: bool,
    recipe: Path | None,
    samples: Path | None,
    pooling: str | None,
    max_tokens: int | None,
    max_drift: float | None,
    revision: str | None,
    module: str | None,
    inputs: Path | None,
    dynamic: str | None,
    allow_torchscript: bool,
    trust_remote_code: bool,
    package: str,
    base: str | None,
    layer: bool,
    models: tuple[str, ...],
    default: str | None,
    tenants: Path | None,
    models_at: str,
    as_json: bool,
) -> None:
    """Press MODEL into an artifact: exported, quantized, verified, packed.

    MODEL is a folder (Hugging Face or sentence-transformers), a hub id, a file (.onnx, .pt2, TorchScript, an
    archive), or demo:minilm; or a project, a folder with a coldpress.toml, as the one here if none is named.
    With --module it is that module's weights, or left out.

    \b
    Examples:
      coldpress build demo:minilm --out out
      coldpress build BAAI/bge-small-en-v1.5 --out bge --precision fp16
      coldpress build ./my-model --out mine --pooling cls --max-tokens 128
      coldpress build ./my-model --out again --recipe mine/coldpress.json
      coldpress build weights.safetensors --module net.py:make --inputs example.pt --out net
      coldpress init demo:minilm && coldpress build --out mine
      coldpress build --models search=BAAI/bge-small-en-v1.5,mood=./mood --out both
    """
    import coldpress
    from coldpress.cli.show import artifact_table, candidates_table, requirements_table, stderr
    from coldpress.custom.project import FILE
    from coldpress.intake.module import read_dynamic
    from coldpress.intake.tensors_file import load_tensors
    from coldpress.progress import Shown

    if models:
        from coldpress.many.asked import read_models
    elif default or tenants or models_at != "package":
        raise UsageError("--default, --tenants and --models-at say more about --models, and there are none")
    elif model is None and module is None and not Path(FILE).is_file():
        raise UsageError(
            f"give a MODEL, or --module whose, or build where a {FILE} is: `coldpress init` writes one"
        )
    artifact = coldpress.build(
        model or (None if module or models else FILE),
        out=out,
        name=name,
        task=task,
        precision=precision,
        engine=engine,
        arch=arch,
        quick=quick,
        recipe=recipe,
        samples=samples,
        pooling=pooling,
        max_tokens=max_tokens,
        max_drift=max_drift,
        revision=revision,
        module=module,
        inputs=None if inputs is None else load_tensors(inputs),
        dynamic=None if dynamic is None else read_dynamic(dynamic),
        allow_torchscript=allow_torchscript,
        trust_remote_code=trust_remote_code,
        package=package,
        base=base,
        layer=layer,
        models=read_models(models) if models else None,
        default=default,
        tenants=tenants,
        models_at=models_at,
        progress=Shown(stderr()),
    )
    _result(artifact, as_json)
    if artifact.manifest["models"] and not artifact.is_many:
        stderr().print(candidates_table(artifact))
    if artifact.manifest.get("custom", {}).get("requirements"):
        stderr().print(requirements_table(artifact))
    stderr().print(artifact_table(artifact))
    asked = _example(artifact)
    short = f"invoke {out} --data '{asked}'" if len(asked) <= _LONGEST else f"serve {out}, and a page to try it on"
    stderr().print(f"next: coldpress {short}", highlight=False, markup=False)


def _result(artifact: Artifact, as_json: bool) -> None:
    click.echo(json.dumps(artifact.manifest) if as_json else str(artifact.path))


def _example(artifact: Artifact) -> str:
    """A request of the function's own kind, short enough to type."""
    custom = artifact.manifest.get("custom")
    if custom is not None:
        return json.dumps(min((one["request"] for one in custom["samples"]), key=str, default={}))
    model = next(iter(artifact.manifest["models"].values()))
    samples = [one["request"] for one in model["samples"]] or [{"text": "hi"}]
    if model["task"] == "embeddings" and not artifact.is_many:
        return '{"text": "hi"}'
    shortest = min((json.dumps({**one, "logits": False}) for one in samples), key=len)
    return shortest.replace(', "logits": false', "")
