"""Ask the function where mails belong: python sort_mails.py URL FILE, with a mail on each line."""

import json
import sys
from pathlib import Path
from urllib.request import Request, urlopen


def sort_mails(url: str, mails: list[str]) -> list[str]:
    body = json.dumps({"text": mails}).encode()
    with urlopen(Request(url, body, {"content-type": "application/json"})) as response:
        return [best["label"] for best in json.load(response)]


if __name__ == "__main__":
    url, file = sys.argv[1:]
    mails = Path(file).read_text(encoding="utf-8").splitlines()
    for desk, mail in zip(sort_mails(url, mails), mails, strict=True):
        print(f"{desk:<10}{mail}")
