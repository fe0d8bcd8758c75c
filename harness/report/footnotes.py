"""Footnotes of tables: every sentence under its number, or one footnote for each kind of reservation."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LONGEST_NOTE = 220


@dataclass
class Footnotes:
    """Sentences numbered from 1 as they are first needed; the same sentence has one number."""

    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self.numbers)

    def mark(self, *sentences: str | None) -> tuple[int, ...]:
        """The numbers of these sentences; empty ones have none."""
        short = (_shorten(sentence) for sentence in sentences if sentence)
        return tuple(dict.fromkeys(self.numbers.setdefault(s, len(self.numbers) + 1) for s in short))

    def mark_kind(self, kind: str, detail: str = "") -> tuple[int, ...]:
        """The number of a kind of footnote, where only kinds are shown; no number here."""
        del kind, detail
        return ()

    def mark_always(self, *sentences: str) -> tuple[int, ...]:
        """The numbers of sentences without which a figure must not stand."""
        return self.mark(*sentences)

    def since(self, count: int) -> list[tuple[int, str]]:
        return [(number, sentence) for sentence, number in self.numbers.items() if number > count]


OTHER_SEMANTICS = "not mathematically equivalent to the baseline"
NO_INTERVAL = "no interval"
SAME_PROGRAM = "the baseline's own program: a difference in time is noise"
INCORRECT = "incorrect"


@dataclass
class FewFootnotes(Footnotes):
    """One footnote for each kind of reservation, with the first cause; all others are left out."""

    details: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    left_out: dict[str, None] = field(default_factory=dict[str, None])

    def __len__(self) -> int:
        return len(self.details)

    def mark(self, *sentences: str | None) -> tuple[int, ...]:
        for sentence in sentences:
            if sentence:
                self.left_out[sentence] = None
        return ()

    def mark_kind(self, kind: str, detail: str = "") -> tuple[int, ...]:
        causes = self.details.setdefault(kind, {})
        if detail:
            causes[detail] = None
        return (list(self.details).index(kind) + 1,)

    def mark_always(self, *sentences: str) -> tuple[int, ...]:
        return tuple(number for sentence in sentences for number in self.mark_kind(sentence))

    def since(self, count: int) -> list[tuple[int, str]]:
        sentences = [_kind_sentence(kind, causes) for kind, causes in self.details.items()]
        return list(enumerate(sentences[count:], count + 1))


def _kind_sentence(kind: str, causes: Mapping[str, None]) -> str:
    if not causes:
        return kind
    more = f"; {len(causes) - 1} more with --notes" if len(causes) > 1 else ""
    return _shorten(f"{kind}: {next(iter(causes))}") + more


def _shorten(sentence: str) -> str:
    flat = " ".join(sentence.split())
    return flat if len(flat) <= LONGEST_NOTE else flat[: LONGEST_NOTE - 1].rsplit(" ", 1)[0] + " …"
