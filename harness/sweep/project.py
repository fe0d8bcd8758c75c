"""A command's flags, and the configuration, catalog and schedule that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.case import split_label, split_list
from harness.core.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.catalog.catalog import Catalog
    from harness.sweep.config import Config
    from harness.sweep.overrides import Overrides
    from harness.sweep.schedule import Schedule

SETTINGS = ("budget", "timeout", "memory", "threads", "precision", "seed")


def words(values: Sequence[str] | None) -> tuple[str, ...]:
    """Flags given once with commas, or several times."""
    return tuple(word for value in values or () for word in split_list(value))


def named(ids: Sequence[str], catalog: Catalog) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(families, implementations) that ids mean; beside implementations, a family means all of its own.

    A check means its family. UsageError for an id that is none of these, with the nearest.
    """
    checks = catalog.checks()
    known = {*catalog.families, *catalog.implementations, *checks}
    short = {info.name for info in catalog.implementations.values()}
    for name in ids:
        try:
            bare, _ = split_label(name)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if bare not in known | short:
            raise UsageError(f'"{name}" is no family, implementation or check{nearest(bare, known)}')
    families = tuple(
        dict.fromkeys(name.split("/")[0] for name in ids if name in {*catalog.families, *checks})
    )
    impls = tuple(name for name in ids if name not in {*catalog.families, *checks})
    if not impls:
        return families, ()
    whole = [name for name in ids if name in catalog.families]
    expanded = [info.id for family in whole for info in catalog.of_family(family)]
    return (), tuple(dict.fromkeys([*impls, *expanded]))


@dataclass
class Asked:
    """The flags of a command, and what they mean for the layers below."""

    flags: Mapping[str, Any]
    _config: Config | None = field(default=None, init=False)

    @property
    def json(self) -> bool:
        return bool(self.flags.get("json"))

    def config(self) -> Config:
        if self._config is None:
            from harness.sweep.config import configuration

            self._config = configuration(self.flags.get("config"))
        return self._config

    @property
    def results(self) -> Path:
        return (self.flags.get("results") or self.config().home / "results").absolute()

    def plugins(self) -> list[str]:
        """The sources of bench.yaml, then those of --plugin."""
        given = (str(Path(name).absolute()) for name in words(self.flags.get("plugin")))
        return [*self.config().plugins, *given]

    def catalog(self) -> tuple[Catalog, tuple[str, ...]]:
        """Everything registered, and the ids that --plugin files brought."""
        from harness.catalog import discovery

        known = discovery.catalog(self.config().plugins)
        given = words(self.flags.get("plugin"))
        everything = discovery.catalog(self.plugins()) if given else known
        return everything, tuple(i for i in everything.implementations if i not in known.implementations)

    def checks(self, catalog: Catalog) -> frozenset[str] | None:
        """The checks that ids name; None: all, for none is named."""
        wanted = frozenset(words(self.flags.get("ids"))) & catalog.checks().keys()
        return wanted or None

    def schedule(self) -> tuple[Schedule, Catalog]:
        from harness.sweep.schedule import plan

        catalog, brought = self.catalog()
        overrides = self.overrides(catalog, brought)
        return plan(self.config(), catalog, self.flags.get("suites") or (), overrides), catalog

    def overrides(self, catalog: Catalog, brought: tuple[str, ...]) -> Overrides:
        from harness.sweep.overrides import Overrides

        flags = self.flags
        fields: dict[str, tuple[str, ...]] = {}
        for assignment in flags.get("set_") or ():
            name, equals, text = assignment.partition("=")
            if not equals:
                raise UsageError(f"--set: write FIELD=VALUE, not {assignment}")
            fields[name.strip()] = (*fields.get(name.strip(), ()), *words([text]))
        families, impls = named(words(flags.get("ids")), catalog)
        return Overrides(
            families=(*words(flags.get("family")), *families),
            impls=(*words(flags.get("impl")), *impls),
            seqs=words(flags.get("seq")),
            modes=words(flags.get("mode")),
            devices=words(flags.get("device")),
            fields=fields,
            baseline=flags.get("baseline"),
            quick=bool(flags.get("quick")),
            replicates=flags.get("replicates", 1),
            settings={name: flags[name] for name in SETTINGS if flags.get(name) is not None},
            plugins=brought,
        )
