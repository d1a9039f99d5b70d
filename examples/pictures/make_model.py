"""Teach a small ResNet to tell shapes apart, on pictures that it draws for itself."""

import random
from math import cos, pi, sin

import torch
from PIL import Image, ImageDraw
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

SHAPES = {"circle": 40, "square": 4, "triangle": 3}  # each is a polygon with so many corners
EDGE = 32  # pixels that the model sees; the function makes every picture as small
STEPS, AT_ONCE = 400, 32


def draw(shape: str, edge: int, chance: random.Random) -> Image.Image:
    """Any size, turn, place and colours; drawn four times as large, so that the edges come out smooth."""
    large, corners = 4 * edge, SHAPES[shape]
    dark, light = (tuple(chance.randrange(low, low + 100) for _ in "rgb") for low in (0, 155))
    back, front = chance.sample([dark, light], 2)
    radius, turn = chance.uniform(0.22, 0.4) * large, chance.uniform(0, 2 * pi)
    across, down = (chance.uniform(radius, large - radius) for _ in "xy")
    angles = [turn + 2 * pi * corner / corners for corner in range(corners)]
    picture = Image.new("RGB", (large, large), back)
    ImageDraw.Draw(picture).polygon([(across + radius * cos(a), down + radius * sin(a)) for a in angles], front)
    return picture.resize((edge, edge), Image.Resampling.BILINEAR)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # a model as small as this loses more by sharing the work than it gains
    chance = random.Random(0)
    names = [*SHAPES]
    processor = ViTImageProcessorPil(size={"height": EDGE, "width": EDGE})
    config = ResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 32, 64],
        depths=[1, 1, 1],
        layer_type="basic",
        id2label=dict(enumerate(names)),
        label2id={name: at for at, name in enumerate(names)},
    )
    model = ResNetForImageClassification(config).train()
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=STEPS)
    for _ in range(STEPS):
        right = torch.randint(len(names), (AT_ONCE,))
        pictures = processor([draw(names[at], EDGE, chance) for at in right], return_tensors="pt")
        optimizer.zero_grad()
        model(**pictures, labels=right).loss.backward()
        optimizer.step()
        schedule.step()

    model.eval().save_pretrained("model")
    processor.save_pretrained("model")
    for name in names:
        draw(name, 200, chance).save(f"{name}.png")
    print(f"model/ knows {', '.join(names)}; a new one of each is beside it, as PNG")


if __name__ == "__main__":
    main()
