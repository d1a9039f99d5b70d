"""Models that lie in S3 have to be there before the function: no template puts files into buckets."""

from coldpress.artifact import STORE
from coldpress.deploy.wanted import Wanted
from coldpress.export.stack import Part


def part(wanted: Wanted) -> Part:
    if wanted.store is None:
        return Part(())
    command = f"aws s3 sync {wanted.artifact.path / STORE} {wanted.store}"
    text = f"They are read from {wanted.store}, and have to lie there before the stack is made:"
    return Part((), notes=(("The models", f"{text}\n\n```\n{command}\n```"),))
