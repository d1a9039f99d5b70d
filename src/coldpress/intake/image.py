"""A folder with a model that looks at pictures: how its processor makes them ready, reduced to a plan.

transformers has a processor class for nearly every family. What they do comes down to a size, a filter, a crop,
and a number to multiply and one to add per channel; the last two are found by asking the processor itself.
"""

from pathlib import Path
from typing import Any

import numpy as np

from coldpress.errors import MissingExtra, UnsupportedModel
from coldpress.intake.source import ImageModel, Options
from coldpress.intake.text import classifier_function, label_names

PROCESSORS = ("preprocessor_config.json", "processor_config.json")
_WARP = 384  # ConvNeXT's processor crops what is smaller, and warps the rest


def describe_image(common: dict[str, Any], config: dict[str, Any], options: Options) -> ImageModel:
    processor = load_processor(common["folder"])
    resize, size = _sizes(processor, common["origin"])
    scale, shift, order = _affine(processor, size, common["origin"])
    labels = label_names(config) if common["task"] == "image-classification" else ()
    return ImageModel(
        **common,
        kind="transformers",
        resize=resize,
        size=size,
        filter=int(getattr(processor, "resample", None) or 2),
        scale=scale,
        shift=shift,
        channels=order,
        labels=labels,
        function=classifier_function(config, len(labels)) if labels else "none",
    )


def load_processor(folder: Path) -> Any:
    """As transformers has it, by Pillow."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingExtra("images", "pillow", "pressing a model that looks at pictures") from None
    if not any((folder / name).is_file() for name in PROCESSORS):
        raise UnsupportedModel(
            f"{folder} has no {PROCESSORS[0]}: nobody says how pictures are made ready for this model. "
            "Save its processor there (processor.save_pretrained(folder)), or press it with --task tensors"
        )
    from transformers import AutoImageProcessor

    try:
        return AutoImageProcessor.from_pretrained(
            folder, backend="pil", trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UnsupportedModel(f"transformers cannot open the image processor in {folder}: {error}") from error


def _sizes(processor: Any, origin: str) -> tuple[dict[str, int], tuple[int, int]]:
    """What a picture is resized to, and what is then cut out of its middle: height, width."""
    size = _plain(processor.size) if getattr(processor, "do_resize", False) else {}
    edge = size.get("shortest_edge")
    if hasattr(processor, "crop_pct") and edge:
        if edge >= _WARP:
            return {"height": edge, "width": edge}, (edge, edge)
        return {"shortest_edge": int(edge / processor.crop_pct)}, (edge, edge)
    crop = _plain(processor.crop_size) if getattr(processor, "do_center_crop", False) else {}
    final = crop if crop else size
    plans: tuple[set[str], ...] = ({"height", "width"}, {"shortest_edge"}, set())
    pads = getattr(processor, "do_pad", None)
    if set(size) not in plans or not {"height", "width"} <= set(final) or pads:
        raise UnsupportedModel(
            f"the processor of {origin} ({type(processor).__name__}) makes many sizes ({size or 'any'}): "
            "press the model with --task tensors, and send it pixel_values"
        )
    return size, (final["height"], final["width"])


def _plain(size: Any) -> dict[str, int]:
    return {key: int(value) for key, value in dict(size or {}).items() if value is not None}


Numbers = tuple[float, float, float]


def _affine(processor: Any, size: tuple[int, int], origin: str) -> tuple[Numbers, Numbers, tuple[int, int, int]]:
    """What becomes of a byte: value = byte × scale + shift, and which channel each value comes from."""
    black = _values(processor, np.zeros((*size, 3), np.uint8))
    order, scale = [], []
    for channel in range(3):
        picture = np.zeros((*size, 3), np.uint8)
        picture[..., channel] = 255
        moved = _values(processor, picture) - black
        (places,) = np.nonzero(np.abs(moved) > 1e-6)
        if len(places) != 1:
            raise UnsupportedModel(f"the processor of {origin} mixes the channels of a picture")
        order.append(int(places[0]))
        scale.append(float(moved[places[0]]) / 255)
    source = [order.index(place) for place in range(3)]
    by_place = [scale[channel] for channel in source]
    return (*by_place,), (*map(float, black),), (*source,)  # type: ignore[return-value]  # three of each


def _values(processor: Any, picture: Any) -> Any:
    from PIL import Image

    made = processor(images=Image.fromarray(picture), return_tensors="np")["pixel_values"][0]
    # In the middle: a processor may add an edge of its own.
    return np.asarray(made, np.float64)[:, made.shape[1] // 2, made.shape[2] // 2]
