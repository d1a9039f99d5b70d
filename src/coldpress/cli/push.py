"""coldpress push"""

from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("target", metavar="IMAGE")
def push(folder: Path, target: str) -> None:
    """Send the image of the artifact in DIR to a registry, and print its name with its digest.

    Credentials are those of docker and podman (`docker login`), and of their helpers. IMAGE may also be oci:FOLDER
    or docker-archive:FILE.

    \b
    Examples:
      coldpress push out 123456789012.dkr.ecr.eu-west-1.amazonaws.com/minilm:1
      coldpress push out localhost:5000/minilm
      coldpress push out docker-archive:minilm.tar && docker load -i minilm.tar
    """
    from coldpress.artifact import Artifact
    from coldpress.cli.show import stderr
    from coldpress.errors import ArtifactError
    from coldpress.package.oci.image import open_image
    from coldpress.package.oci.push import send
    from coldpress.progress import Shown

    artifact = Artifact.open(folder)
    if artifact.image is None:
        raise ArtifactError(f"{folder} has no image: build it with --package image")
    with Shown(stderr()).stage("push") as say:
        name = send(open_image(artifact.image), target, say)
    click.echo(name)
