"""Reading a family's claims.yaml; everything that it names must exist."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog, FamilyInfo
from harness.claims.evidence import needs
from harness.claims.expression import COLUMNS
from harness.claims.model import ANY, VERDICTS, Claim, Figure, Table, Word
from harness.claims.read_parts import Sources, fields, figures_of, functions_of, sources_in, table_of, text
from harness.core.errors import UsageError, nearest
from harness.core.workload import Value
from harness.sweep import written as yaml_nodes
from harness.sweep.axes import parse
from harness.sweep.written import Node, YamlMapping, at, items, read, scalar

FILE = "claims.yaml"
SECTIONS = ("sources", "tables", "claims", "context")
TEXTS = ("id", "says", "hardware", "because", "needs", "not_checkable", "headline")


@dataclass(frozen=True)
class _File:
    """The family, sources and tables that the claims of a file refer to."""

    family: FamilyInfo
    sources: Sources
    tables: Mapping[str, Table]

    def named_table(self, node: Node, name: str) -> Table:
        raw = scalar(node, name)
        if raw.text not in self.tables:
            raise UsageError(f'{raw.where}: unknown table "{raw.text}"{nearest(raw.text, self.tables)}')
        return self.tables[raw.text]

    def shape(self, node: Node, name: str) -> dict[str, Value]:
        """The fields of the workload that a claim writes out."""
        shape: dict[str, Value] = {}
        for key, entry in yaml_nodes.table(node, name).entries.items():
            with at(entry.where):
                field = self.family.field(key)
            shape[key] = parse(field, scalar(entry.node, key))
        return shape


def claims_of(family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    """The claims of the claims.yaml beside a family's module, in its order; empty without that file.

    UsageError: `claims.yaml:LINE: …` for anything unknown, duplicate, missing or malformed.
    """
    path = Path(family.file).with_name(FILE)
    return load(path, family, catalog) if path.is_file() else ()


def load(path: Path, family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    root = yaml_nodes.table(read(path), path.name)
    root.refuse_unknown(SECTIONS, "at the top level")
    if "claims" not in root.entries:
        raise UsageError(f"{root.where}: the file has no claims")
    sources = sources_in(_section(root, "sources"))
    tables = {name: table_of(name, node, sources) for name, node in _section(root, "tables").items()}
    file = _File(family, sources, tables)
    claims: dict[str, Claim] = {}
    for section in ("claims", "context"):
        if section not in root.entries:
            continue
        for node in items(root.entries[section].node, section):
            claim = _claim(node, file, context=section == "context")
            if claim.id in claims:
                raise UsageError(
                    f"{claim.where}: duplicate id {claim.id}; it stands in {claims[claim.id].where} too"
                )
            needs(claim, catalog)  # for its errors
            claims[claim.id] = claim
    return tuple(claims.values())


def _section(root: YamlMapping, name: str) -> Mapping[str, Node]:
    entries = yaml_nodes.table(root.entries[name].node, name).entries if name in root.entries else {}
    return {key: entry.node for key, entry in entries.items()}


def _claim(node: Node, file: _File, *, context: bool) -> Claim:
    readers = {
        **dict.fromkeys(TEXTS, text),
        "source": file.sources.citations,
        "target": _targets,
        "shape": file.shape,
        "table": file.named_table,
        "figures": figures_of,
        "expect": _verdict,
    }
    given = fields(node, "a claim", readers, required=("id", "says", "source", "hardware", "expect"))
    shape = given.pop("shape", {})
    claim = Claim(
        family=file.family.name,
        where=node.where,
        sources=given.pop("source"),
        targets=given.pop("target", ()),
        shape={field.name: field.default for field in file.family.fields if not field.required} | shape,
        given=tuple(shape),
        context=context,
        **given,
    )
    _refuse_contradictions(claim)
    return claim


def _verdict(node: Node, name: str) -> str:
    word = text(node, name)
    if word not in VERDICTS:
        raise UsageError(f'{node.where}: unknown verdict "{word}"{nearest(word, VERDICTS)}')
    return word


def _targets(node: Node, name: str) -> tuple[str, ...]:
    """The targets that the published hardware may have been."""
    targets = yaml_nodes.scalars(node, name)
    for raw in targets:
        with at(raw.where):
            accelerators.target(raw.text)
    return tuple(raw.text for raw in targets)


def _refuse_contradictions(claim: Claim) -> None:
    """UsageError for keys that contradict each other."""
    where = f"{claim.where}: {claim.id}"
    of_pull_requests = [citation.source for citation in claim.sources if citation.source.of]
    if claim.context and of_pull_requests:
        raise UsageError(f"{where} is of {of_pull_requests[0].of}, so it stands under claims")
    if not claim.context and len(of_pull_requests) < len(claim.sources):
        raise UsageError(
            f"{where} has a source that is of no pull request (of: …); "
            "what is only context stands under context"
        )
    deciding = [figure for figure in claim.figures if figure.decides]
    if not deciding and not claim.not_checkable:
        raise UsageError(
            f"{where} has no figure that decides; "
            "add one with two of published, follows and found, or with a bound, or not_checkable: why"
        )
    if deciding and all(figure.premise for figure in deciding):
        raise UsageError(f"{deciding[0].where}: a premise stands beside what it is the premise of")
    if claim.expect != Word.NOT_CHECKABLE and not deciding:
        raise UsageError(f"{where}: without a figure that decides the verdict is {Word.NOT_CHECKABLE}")
    cited = (*claim.sources, *(claim.table.sources if claim.table else ()))
    documents = list(dict.fromkeys(each.source.of or each.source.title for each in cited))
    for figure in claim.figures:
        what = f"{figure.where}: figure {figure.name}"
        if _compares_document_numbers(figure) and len(documents) > 1:
            raise UsageError(
                f"{what}: what is held to each other is of one document, "
                f"not of {' and '.join(documents)}; what another one says is found"
            )
        if _contradicts_by_hand(figure) and claim.hardware != ANY:
            raise UsageError(
                f"{what}: a number written down says nothing against "
                f"{claim.hardware}; count, compile or run what is found, or say hardware: {ANY}"
            )
        if figure.each and claim.table is None:
            raise UsageError(f"{figure.where}: each row of what? The claim has no table")


def _compares_document_numbers(figure: Figure) -> bool:
    """Whether a figure compares a document's numbers with each other, which must be of one document."""
    if figure.found is not None:
        return bool(figure.published and figure.follows)
    return figure.compared or (figure.bounded and functions_of(figure) <= set(COLUMNS))


def _contradicts_by_hand(figure: Figure) -> bool:
    """Whether a published number is compared with a literal: neither counted, compiled nor run."""
    found = figure.found
    return bool(figure.published) and found is not None and not (found.functions() or found.names())
