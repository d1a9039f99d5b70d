"""From what a person wants to what is to be made."""

from collections.abc import Callable

from coldpress.deploy.wanted import Wanted
from coldpress.errors import ArtifactError
from coldpress.export.parts import bulk, function, models, queue, role, scaling, url, watch
from coldpress.export.stack import Part, Stack

#: in the order that they are written
_PARTS: tuple[Callable[[Wanted], Part], ...] = (
    role.part,
    function.part,
    url.part,
    scaling.part,
    queue.part,
    watch.part,
    bulk.part,
    models.part,
)


def stack(wanted: Wanted) -> Stack:
    if wanted.image and wanted.artifact.image is None:
        raise ArtifactError(f"{wanted.artifact.path} has no image: build it with --package image")
    if not wanted.image and wanted.artifact.zip is None:
        raise ArtifactError(f"{wanted.artifact.path} has no function.zip: build it with --package zip")
    queue.check(wanted)
    parts = [make(wanted) for make in _PARTS]
    return Stack(
        resources=tuple(one for part in parts for one in part.resources),
        parameters=tuple(one for part in parts for one in part.parameters),
        conditions=tuple(one for part in parts for one in part.conditions),
        outputs=tuple(one for part in parts for one in part.outputs),
        notes=tuple(one for part in parts for one in part.notes),
        name=wanted.name,
        description=f"{wanted.name}: {wanted.artifact.name}, pressed by coldpress",
        zip=None if wanted.image else wanted.artifact.zip,
    )
