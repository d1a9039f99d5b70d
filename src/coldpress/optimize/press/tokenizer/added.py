"""Added tokens, compiled for native/added.c: a tree of their bytes, and the characters that matter beside them."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldpress.optimize.press.tokenizer.characters import every_character, is_inhabited, ranges
from coldpress.optimize.press.tokenizer.frame import Part, refuse

_FLAGS = {"lstrip": 1, "rstrip": 2, "single_word": 4, "normalized": 8, "special": 16}
_PROBE = "ᚠ"  # a rune: neither a space nor anything that a text has beside it


def added_parts(tokens: list[dict[str, Any]], normalizer: Any) -> dict[int, NDArray[Any]]:
    """The parts of native/tokenizer.h for added tokens; `normalizer` is the tokenizer's, or None."""
    records, first, trie = [], np.zeros((2, 256), np.uint32), _Trie()
    contents = [_searched(token, normalizer) for token in tokens]
    if any(token["rstrip"] for token in tokens) and any(content[0].isspace() for content in contents):
        raise refuse("it has added tokens that take in the space which others begin with")
    for number, (token, content) in enumerate(zip(tokens, contents, strict=True)):
        records.append((token["id"], sum(flag for name, flag in _FLAGS.items() if token[name])))
        trie.insert(first[int(token["normalized"])], content.encode(), number)
    nodes, edges = trie.tables()
    parts: dict[int, NDArray[Any]] = {
        Part.ADDED: np.array(records, np.uint32),
        Part.NODES: nodes,
        Part.EDGES: edges,
        Part.SPACES: _spaces(),
    }
    for part, table in ((Part.FIRST, first[0]), (Part.FIRST_NORMALIZED, first[1])):
        if table.any():
            parts[part] = table
    if any(token["single_word"] for token in tokens):
        parts[Part.LETTERS] = _letters()
    return parts


def _searched(token: dict[str, Any], normalizer: Any) -> str:
    """What is looked for: its text, or what normalizing makes of that."""
    content: str = token["content"]
    if token["normalized"] and normalizer is not None:
        content = normalizer.normalize_str(content)
    if not content:
        raise refuse(f"its added token {token['content']!r} is empty")
    return content


class _Trie:
    def __init__(self) -> None:
        self._children: list[dict[int, int]] = [{}]  # the first is no node
        self._added = [0]

    def insert(self, first: NDArray[np.uint32], content: bytes, number: int) -> None:
        node = int(first[content[0]]) or self._node()
        first[content[0]] = node
        for byte in content[1:]:
            children = self._children[node]
            if byte not in children:
                children[byte] = self._node()
            node = children[byte]
        if self._added[node]:
            raise refuse(f"two added tokens are {content.decode()!r}")
        self._added[node] = number + 1

    def _node(self) -> int:
        self._children.append({})
        self._added.append(0)
        return len(self._children) - 1

    def tables(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        nodes: list[tuple[int, int, int]] = []
        edges: list[tuple[int, int]] = []
        for children, added in zip(self._children, self._added, strict=True):
            nodes.append((len(edges), len(children), added))
            edges += sorted(children.items())
        return np.array(nodes, np.uint32), np.array(edges, np.uint32)


def _spaces() -> NDArray[np.uint32]:
    """What tokens with `rstrip` take in. Python knows all that may be space, and a few that are none."""
    found = _beside({"rstrip": True}, "".join(re.findall(r"\s", every_character())))
    return ranges(character for character, length in found.items() if length > 1)


def _letters() -> NDArray[np.uint32]:
    """What keeps a token with `single_word` from being one."""
    found = _beside({"single_word": True}, "".join(filter(is_inhabited, every_character())))
    return ranges(character for character, length in found.items() if not length)


def _beside(rule: dict[str, bool], characters: str) -> dict[str, int]:
    """The length of an added token before each of some characters; 0 where it is not found."""
    from tokenizers import AddedToken, Tokenizer, models

    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))  # noqa: S106
    tokenizer.add_tokens([AddedToken(_PROBE, normalized=False, **rule)])
    number = tokenizer.token_to_id(_PROBE)
    lengths: dict[str, int] = {}
    for at in range(0, len(characters), 4096):
        some = characters[at : at + 4096]
        # What stands on the other side is neither, so that only what follows matters.
        encoding = tokenizer.encode("".join(f".{_PROBE}{character}" for character in some))
        tokens = zip(encoding.ids, encoding.offsets, strict=True)
        found = {start // 3: end - start for given, (start, end) in tokens if given == number}
        lengths |= {character: found.get(place, 0) for place, character in enumerate(some)}
    return lengths
