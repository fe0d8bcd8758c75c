"""Every implementation of a family by its name: after `import MASK as V`, `V.scatter`."""

from importlib import import_module
from itertools import product
from pkgutil import walk_packages
from types import SimpleNamespace

from harness.catalog.loading import implementations_in
from harness.core.case import split_label
from harness.core.workload import fields_of


def variants(family):
    home = f"impls.{family}"
    entries = walk_packages(import_module(home).__path__, f"{home}.")
    names = [
        entry.name for entry in entries if "._triton_" not in entry.name
    ]  # kernels need not be installed
    modules = [import_module(name) for name in names]
    return SimpleNamespace(**{own.name: own for module in modules for own in implementations_in(module)})


ATTENTION, MASK, MLA, OFFSETS, TOPK = map(variants, ("attention", "mask", "mla", "offsets", "topk"))
HOMES = {"attention": ATTENTION, "mask": MASK, "mla": MLA, "offsets": OFFSETS, "topk": TOPK}


def labelled(family, text):
    """The implementation and the options of a label such as `dense_chunked[chunk=64]`."""
    name, written = split_label(text)
    own = getattr(HOMES[family], name)
    return own, {
        field.name: field.parse(written[field.name]) if field.name in written else field.default
        for field in own.options
    }


FAMILIES = {name: import_module(f"impls.{name}.family").FAMILY for name in HOMES}


def parsed(family, fields):
    """The workload with these field values, written as in bench.yaml."""
    kind = FAMILIES[family].workload
    known = {field.name: field for field in fields_of(kind)}
    return kind(**{name: known[name].parse(value) for name, value in fields.items()})


def products(family, fields):
    """One workload for each combination of its fields' values."""
    values = [value if isinstance(value, list) else [value] for value in fields.values()]
    return [parsed(family, dict(zip(fields, chosen, strict=True))) for chosen in product(*values)]
