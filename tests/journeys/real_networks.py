"""Networks whose trained weights travel inside packages of the registry, as their papers describe them."""

import torch
from torch import Tensor, nn


class Faces(nn.Module):
    """The last of MTCNN's three networks (Zhang et al., 2016): is it a face, where exactly, and its landmarks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.prelu1 = nn.Conv2d(3, 32, 3), nn.PReLU(32)
        self.conv2, self.prelu2 = nn.Conv2d(32, 64, 3), nn.PReLU(64)
        self.conv3, self.prelu3 = nn.Conv2d(64, 64, 3), nn.PReLU(64)
        self.conv4, self.prelu4 = nn.Conv2d(64, 128, 2), nn.PReLU(128)
        self.dense5, self.prelu5 = nn.Linear(1152, 256), nn.PReLU(256)
        self.dense6_1, self.dense6_2, self.dense6_3 = nn.Linear(256, 2), nn.Linear(256, 4), nn.Linear(256, 10)
        self.wide, self.narrow = nn.MaxPool2d(3, 2, ceil_mode=True), nn.MaxPool2d(2, 2, ceil_mode=True)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x = self.wide(self.prelu1(self.conv1(x)))
        x = self.wide(self.prelu2(self.conv2(x)))
        x = self.narrow(self.prelu3(self.conv3(x)))
        x = self.prelu4(self.conv4(x)).permute(0, 3, 2, 1).flatten(1)
        x = self.prelu5(self.dense5(x))
        return {"face": self.dense6_1(x).softmax(-1), "box": self.dense6_2(x), "landmarks": self.dense6_3(x)}


class Voices(nn.Module):
    """A speaker's voice as a vector (Wan et al., 2017), from 1.6 s of mel spectrogram."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.linear = nn.LSTM(40, 256, 3, batch_first=True), nn.Linear(256, 256)
        # Of its training: they lie among the weights, and no answer needs them.
        self.similarity_weight, self.similarity_bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))

    def forward(self, mels: Tensor) -> dict[str, Tensor]:
        _, (hidden, _) = self.lstm(mels)
        return {"embedding": nn.functional.normalize(self.linear(hidden[-1]).relu(), dim=-1)}


def faces() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return Faces(), torch.randn(2, 3, 48, 48)


def voices() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return Voices(), torch.rand(2, 160, 40) * 0.1
