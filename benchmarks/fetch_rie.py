"""Fetch AWS's Runtime Interface Emulator: it lies inside the wheel of the SAM command line."""

import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aws-sam-cli==1.170.0"
NAMES = {"x86_64": "aws-lambda-rie-x86_64", "aarch64": "aws-lambda-rie-arm64"}


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE], check=True
        )
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(f"samcli/local/rapid/{NAMES[platform.machine()]}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    target.chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
