"""Sizes: what Lambda takes as a zip, sent directly or through S3, and as an image."""

from coldpress.artifact import LAYER_ZIP
from coldpress.doctor.case import Case
from coldpress.doctor.finding import Finding, green, red, yellow
from coldpress.package.oci.blobs import MOST_BYTES
from coldpress.package.oci.image import open_image
from coldpress.package.pack import DIRECT_ZIP, UNZIPPED

#: of a limit: what is nearer than this grows over it soon
_NEAR = 0.95


def package_made(case: Case) -> Finding:
    """Whether there is what is to be sent."""
    name = "package"
    made = case.artifact.zip if case.package == "zip" else case.artifact.image
    if made is not None:
        return green(name, f"{case.package}: {made.name}")
    return red(
        name,
        f"there is no {case.package} in {case.artifact.path}",
        why="Lambda takes a zip or an image, not a folder",
        fix=f"coldpress build MODEL --out {case.artifact.path} --package {case.package}, or build its Dockerfile",
    )


def unzipped(case: Case) -> Finding | None:
    """All that a function has unpacked, its layers included."""
    if case.package != "zip":
        return None
    name, size = "size, unzipped", case.function_bytes
    said = f"{_mb(size)} of {_mb(UNZIPPED)}"
    if size > UNZIPPED:
        return red(
            name,
            said,
            why="Lambda refuses a zip that unpacks to more",
            fix=f"coldpress build MODEL --out {case.artifact.path} --package image",
        )
    if size > _NEAR * UNZIPPED:
        return yellow(
            name,
            said,
            why="a slightly larger model will not fit a zip",
            fix=f"see what weighs what: coldpress size {case.artifact.path}; or build with --package image",
        )
    return green(name, said)


def direct_zip(case: Case) -> Finding | None:
    name, package = "size, zip", case.artifact.zip
    if case.package != "zip" or package is None:
        return None
    layer = case.artifact.path / LAYER_ZIP
    sizes = {path.name: path.stat().st_size for path in (package, layer) if path.exists()}
    large = [f"{file} {_mb(size)}" for file, size in sizes.items() if size > DIRECT_ZIP]
    if large:
        return yellow(
            name,
            f"{', '.join(large)}; a request to Lambda takes {_mb(DIRECT_ZIP)}",
            why="more goes through a bucket in S3 only, and every megabyte adds some 6 ms to a cold start",
            fix="upload it to S3 first (coldpress deploy does), or build with --precision int8 or --layer",
        )
    return green(name, f"{', '.join(f'{file} {_mb(size)}' for file, size in sizes.items())} of {_mb(DIRECT_ZIP)}")


def image_size(case: Case) -> Finding | None:
    layout = case.artifact.image
    if case.package != "image" or layout is None:
        return None
    name, size = "size, image", _unpacked(case)
    said = f"{size / 1e9:.2f} GB unpacked, of {MOST_BYTES / 1e9:.0f}"
    if size > MOST_BYTES:
        return red(
            name,
            said,
            why="Lambda refuses a larger image",
            fix="take a smaller --base or --precision int8: coldpress size DIR shows what weighs what",
        )
    return green(name, said)


def _unpacked(case: Case) -> int:
    """As its manifest says; an index has none, and then what the build wrote down counts."""
    said = case.artifact.manifest.get("image")
    if isinstance(said, dict) and isinstance(said.get("unpacked"), int):
        return int(said["unpacked"])
    assert case.artifact.image is not None
    return open_image(case.artifact.image).unpacked


def _mb(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


CHECKS = [package_made, unzipped, direct_zip, image_size]
