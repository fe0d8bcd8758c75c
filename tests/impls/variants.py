"""Every implementation of a family by its name: after `import MASK as V`, `V.scatter`."""

from importlib import import_module
from pkgutil import iter_modules
from types import SimpleNamespace

from harness.catalog.loading import implementations_in


def variants(family):
    home = f"impls.{family}"
    modules = [import_module(f"{home}.{info.name}") for info in iter_modules(import_module(home).__path__)]
    return SimpleNamespace(**{own.name: own for module in modules for own in implementations_in(module)})


ATTENTION, MASK, MLA, OFFSETS, TOPK = map(variants, ("attention", "mask", "mla", "offsets", "topk"))
