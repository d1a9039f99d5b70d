"""Which tokens go on with the word before them: needed where answers are made of whole words."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldpress_runtime.model import Model


class Words:
    """A vocabulary of whole words and their continuations says so itself; for others, spaces do."""

    def __init__(self, model: "Model") -> None:
        self._folder = model.folder
        self._file: str | None = model.spec["continuations"]
        self._unknown: int | None = model.spec["unknown"]
        self._bits: bytes | None = None

    def goes_on(self, token: int, text: str, start: int) -> bool:
        if token == self._unknown:
            return False
        if self._file is None:
            return start > 0 and " " not in text[start - 1 : start + 1]
        if self._bits is None:
            with open(f"{self._folder}/{self._file}", "rb") as file:
                self._bits = file.read()
        at = token >> 3
        return at < len(self._bits) and bool(self._bits[at] >> (token & 7) & 1)
