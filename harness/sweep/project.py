"""The project of one command: bench.yaml, the catalog of everything registered, and the results folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.case import split_label
from harness.core.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.catalog.catalog import Catalog
    from harness.sweep.config import Config
    from harness.sweep.overrides import Overrides
    from harness.sweep.schedule import Schedule


@dataclass(frozen=True)
class Project:
    """Configuration, catalog and results folder of one command; each is read once, on its first use.

    `config_path` None: the nearest bench.yaml. `results_path` None: results/ next to it. `given_plugins` are
    files or modules in addition to the plugins of bench.yaml. `hashed` False: the catalog has no hashes of
    this project's sources.
    """

    config_path: Path | None = None
    results_path: Path | None = None
    given_plugins: tuple[str, ...] = ()
    hashed: bool = True

    @cached_property
    def config(self) -> Config:
        from harness.sweep.config import configuration

        return configuration(self.config_path)

    @property
    def results(self) -> Path:
        return (self.results_path or self.config.home / "results").absolute()

    @property
    def plugins(self) -> tuple[str, ...]:
        """The plugins of bench.yaml, then the given ones."""
        return (*self.config.plugins, *self.given_sources)

    @property
    def catalog(self) -> Catalog:
        """Everything registered by the project, installed packages and all plugins."""
        return self._catalogs[1]

    @property
    def added(self) -> tuple[str, ...]:
        """The implementations that only the given plugins register; they join every suite of their family."""
        known, everything = self._catalogs
        return tuple(name for name in everything.implementations if name not in known.implementations)

    def plan(
        self, suites: Sequence[str] = (), overrides: Overrides | None = None, ids: Sequence[str] = ()
    ) -> Schedule:
        """The schedule of the suites (default: the default suites), narrowed to the ids if any are given.

        An id that is only the name of a suite selects that suite.
        """
        from harness.sweep.schedule import plan

        named = [*suites, *self.suites_among(ids)]
        return plan(self.config, self.catalog, named, self.narrow(overrides, ids), installed=True)

    def suites_among(self, ids: Sequence[str]) -> list[str]:
        """The ids that are only names of suites."""
        known = known_ids(self.catalog)
        return [name for name in ids if name in self.config.suites and name not in known]

    def narrow(self, overrides: Overrides | None = None, ids: Sequence[str] = ()) -> Overrides:
        """The overrides, narrowed to the ids if any are given, with the given plugins' implementations."""
        from harness.sweep.overrides import Overrides

        changes = overrides or Overrides()
        named = self.suites_among(ids)
        families, impls = resolve_ids([name for name in ids if name not in named], self.catalog)
        return replace(
            changes,
            families=(*changes.families, *families),
            impls=(*changes.impls, *impls),
            plugins=self.added,
        )

    def checks_in(self, ids: Sequence[str]) -> frozenset[str] | None:
        """The checks among the ids; None if there are no checks, which means all checks."""
        return frozenset(ids) & self.catalog.checks().keys() or None

    @property
    def given_sources(self) -> tuple[str, ...]:
        """The given plugins: absolute paths of files, and names of modules."""
        return tuple(
            str(Path(name).absolute()) if name.endswith(".py") else name for name in self.given_plugins
        )

    @cached_property
    def _catalogs(self) -> tuple[Catalog, Catalog]:
        """The catalog without the given plugins, and with them."""
        from harness.catalog import discovery

        known = discovery.catalog(self.config.plugins, hashed=self.hashed)
        return known, known.merged(discovery.catalog(self.given_sources)) if self.given_plugins else known


def known_ids(catalog: Catalog) -> frozenset[str]:
    """The ids of families, implementations and checks that commands take."""
    return frozenset({*catalog.families, *catalog.implementations, *catalog.checks()})


def resolve_ids(ids: Sequence[str], catalog: Catalog) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(families, implementations) that ids select. A check selects its family.

    Together with implementations, a family means all of its implementations. UsageError, with the nearest id,
    for an unknown id.
    """
    from harness.catalog.catalog import LISTING

    known = known_ids(catalog)
    short = {info.name for info in catalog.implementations.values()}
    impls: dict[str, list[str]] = {}  # a named family means all of its implementations
    for name in ids:
        try:
            bare, _ = split_label(name)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if bare not in known | short:
            raise UsageError(
                f'"{name}" is not a suite, family, implementation or check{nearest(bare, known, LISTING)}'
            )
        if name not in catalog.checks():
            impls[name] = [i.id for i in catalog.of_family(name)] if name in catalog.families else [name]
    if all(name in catalog.families for name in impls):
        return tuple(dict.fromkeys(name.split("/")[0] for name in ids)), ()
    return (), tuple(dict.fromkeys(chain(*impls.values())))
