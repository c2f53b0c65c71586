"""Made-up tokens: pseudo-random, of a vocabulary, the same in every runner (native/generate.cpp)."""

from __future__ import annotations

from typing import Final

PROMPT_TOKENS: Final = 0
DEPTH_TOKENS: Final = 1
_MASK: Final = (1 << 64) - 1


def make_up_tokens(count: int, vocabulary: int, sequence: int = PROMPT_TOKENS) -> list[int]:
    """Return tokens by splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).

    Args:
        count: Number of tokens.
        vocabulary: Tokens are from 0 to below this.
        sequence: `PROMPT_TOKENS` or `DEPTH_TOKENS`.
    """
    tokens = []
    for index in range(1, count + 1):
        mixed = ((sequence << 32) + index) * 0x9E3779B97F4A7C15 & _MASK
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
        tokens.append((mixed ^ (mixed >> 31)) % vocabulary)
    return tokens
