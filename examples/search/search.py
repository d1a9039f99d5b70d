"""Search by meaning: the function makes a vector of every sentence, and near vectors mean nearly the same.

python search.py URL index sentences.txt      a vector for each line, kept in index.json
python search.py URL find "a question" …      for each question the lines that are nearest
"""

import json
import sys
from math import hypot
from pathlib import Path
from urllib.request import Request, urlopen

Vector = list[float]

INDEX = Path("index.json")
AT_ONCE = 16  # sentences in a request: a function answers the sooner, the less it is asked
SHOWN = 2


def embed(url: str, texts: list[str]) -> list[Vector]:
    body = json.dumps({"text": texts}).encode()
    with urlopen(Request(url, body, {"content-type": "application/json"})) as response:
        vectors: list[Vector] = json.load(response)["embeddings"]
    return vectors


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (hypot(*one) * hypot(*other))


def index(url: str, file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    vectors: list[Vector] = []
    for start in range(0, len(lines), AT_ONCE):
        vectors += embed(url, lines[start : start + AT_ONCE])
    INDEX.write_text(json.dumps([*zip(lines, vectors, strict=True)]), encoding="utf-8")
    print(f"{len(lines)} sentences indexed")


def find(url: str, questions: list[str]) -> None:
    known: list[tuple[str, Vector]] = json.loads(INDEX.read_text(encoding="utf-8"))
    for question, asked in zip(questions, embed(url, questions), strict=True):
        nearest = sorted(((cosine(asked, vector), line) for line, vector in known), reverse=True)
        print(f"\n{question}")
        for score, line in nearest[:SHOWN]:
            print(f"  {score:.2f}  {line}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [url, "index", file]:
            index(url, Path(file))
        case [url, "find", *questions] if questions:
            find(url, questions)
        case _:
            sys.exit(__doc__)
