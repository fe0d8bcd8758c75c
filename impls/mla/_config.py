"""Widths of the models."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Widths of a model: `dim` of a token, and per head `nope` + `rope` of a key and `v` of a value."""

    dim: int
    heads: int
    q_lora: int
    kv_lora: int
    nope: int = 128
    rope: int = 64
    v: int = 128


CONFIGS = {"small": Config(2048, 16, 0, 512), "v3": Config(7168, 128, 1536, 512)}
