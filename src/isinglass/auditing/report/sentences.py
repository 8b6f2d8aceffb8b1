"""The sentences about facts that stand beside an audit's numbers."""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

from isinglass.auditing.findings import PolicyLine
from isinglass.auditing.notes import AuditNote, Kind, OwnersFile
from isinglass.auditing.report.text import share
from isinglass.formats import counted
from isinglass.table.columns import listed

_AS_IF_SILENT = "; the attacks were run as on a file that says nothing."
_SENTENCES = {
    Kind.UNCHANGED_ROWS: "{share:share} of the released rows are records of the table, unchanged.",
    Kind.UNCHANGED_CELLS: "{share:share} of the cells are values of the table, unchanged.",
    Kind.CONSTANT_COLUMNS: "Columns that hold one value only and were left out: {n}.",
    Kind.MEASURED_ON_SAMPLE: (
        "Success was measured on {n:,} records chosen at random, and on every true outlier "
        "that no attacker was given."
    ),
    Kind.FEW_RECORDS: (
        "With {n} records to guess an interval is up to ± {half:.2f} wide: small "
        "gains cannot be told from none."
    ),
    Kind.NOT_ALL_COMPARED: (
        "The release has more than {n:,} rows that may stand in any order, and "
        "not all were compared with every record: a copy of the table may have been missed."
    ),
    Kind.ROWS_UNKNOWN: (
        "The audit was not given which released row is whose record: nothing is measured about "
        "detection, and attacks that need row numbers were not run."
    ),
    Kind.ROWS_ARE_NO_RECORDS: (
        "Rows of the release do not correspond to records: detection was not measured."
    ),
    Kind.PERSONS_HELD_OUT: (
        "Rows of the same {column} were held out together: whether somebody "
        "has a record in the table was measured so."
    ),
    Kind.FAILED_WITH_KNOWLEDGE: (
        "Attacks that failed: {attacks}. They did worse than a blind guess though they hold the "
        "key, or clearly worse than attacks with no more knowledge; their figures are no comfort, "
        "and the better ones count for everybody who holds as much."
    ),
    Kind.UNCLEAR_MEMBERSHIP: (
        "Whether a record is in the table: too few {of} to tell. With {n_others:,} records "
        "held out, {n_draws} times, the area under the curve may be anything from "
        "{low:.2f} to {high:.2f}, and the upper limit counts."
    ),
    Kind.COLUMNS_NOT_AS_CLAIMED: (
        "The release says that it was made by {method}, but its columns are not the table's"
        + _AS_IF_SILENT
    ),
    Kind.VALUES_NOT_AS_CLAIMED: (
        "The release says that it was made by {method}, but most of its columns do not "
        "follow the table's" + _AS_IF_SILENT
    ),
    Kind.NOISE_NOT_AS_CLAIMED: (
        "The release's noise is not of the size that the release says" + _AS_IF_SILENT
    ),
    Kind.MOMENTS_NOT_AS_CLAIMED: (
        "The release says that it was made by {method}, but its columns have not the table's "
        "means, covariances or range" + _AS_IF_SILENT
    ),
    Kind.TEXT_AS_NUMBERS: (
        "Columns of the table whose text is numbers were attacked: {columns:some}."
    ),
    Kind.TEXT_LEFT_OUT: "Columns of the table that are not numbers were left out: {columns:some}.",
    Kind.ENCODED_COLUMNS: "Columns that stand for a category each: {columns:some}.",
    Kind.HASHES_UNDONE: (
        "Columns of the release are unsalted hashes of the table's values: {columns:some}. "
        "Whoever hashes what may stand there reads them, and so they were attacked as values."
    ),
    Kind.CELLS_MISSING: (
        "{n:,} cells of {file} are missing; attackers take the "
        "mean of the column for each, and see which cells they are."
    ),
    Kind.OTHER_NUMBERS: (
        "Numbers in text, times or lists, and texts of a few values, were attacked with the "
        "numeric columns."
    ),
    Kind.KEPT_PARTS: "Kept columns were also read by their parts: {parts:some}.",
    Kind.KEPT_MANY: (
        "The kept columns have {n:,} combinations of values in {of:,} rows: records may depend on "
        "them in ways that no attack here tried, and then more can be got back than is said here."
    ),
    Kind.BESIDE_ATTACKED: "What left beside the table's columns was attacked with them.",
    Kind.FILLED_WITH_MEDIANS: (
        "The release has rows of records with missing values; these were filled with medians "
        "instead of being left out, so that all rows were attacked."
    ),
    Kind.INCOMPLETE_ROWS: "Rows of the table with missing values that were left out: {n:,}.",
    Kind.ROWS_WITHOUT_PARTNER: "Rows of {file} that have no partner: {n:,}.",
    Kind.OTHER_LENGTH: (
        "{table} has {n_table:,} rows and {release} has "
        "{n_release:,}, so they do not match by order and every released row may be "
        "anybody's. A column that identifies rows in both files makes the audit sharper; so does "
        "settling missing values as the release did."
    ),
    Kind.TRANSPOSED: (
        "The release has a column for each record, and was attacked as a transposed table."
    ),
    Kind.OTHER_SHAPE: (
        "The release has the table's numbers in another shape, and was attacked in its own."
    ),
    Kind.ROWS_TRANSFORMED: (
        "The release is a transform along the rows of the table, and was attacked undone."
    ),
    Kind.SEVERAL_ROWS_TOGETHER: (
        "The release has {n} rows for each record, which were attacked together."
    ),
    Kind.SEVERAL_ROWS_AS_ONE: "The release has {n} rows for each record, which were read as one.",
    Kind.ORDER_CANNOT_BE_TOLD: (
        "Nobody can tell which released row is whose record: none depends on the record in its "
        "place, and no other order was found in which they do. Attacks that need to know it may "
        "have been given wrong pairs, and count as not run."
    ),
    Kind.OTHER_ORDER_FOUND: (
        "The release's rows do not stand in the table's order: they were found {how}, and "
        "were attacked in the table's order."
    ),
    Kind.SECRET_ORDER_IS_NONE: (
        "The release says that its rows are in a secret order, but they stand in the table's "
        "order, and were attacked so."
    ),
    Kind.SECRET_ORDER_FOUND: "The release is in a secret order, and it was found {how}.",
    Kind.SECRET_ORDER_STAYS: (
        "The release is in a secret order and the key was not given to undo it."
    ),
    Kind.SEED_GUESSED: (
        "The key came from a seed that was guessed: the release was undone with it before "
        "it was attacked."
    ),
    Kind.OTHER_RELEASE_UNMATCHED: "Rows of {file} cannot be told to belong to those released.",
    Kind.OTHER_RELEASE_UNKNOWN: (
        "{file} was attacked with the release, but is no further release of these rows that the "
        "register knows, and does not count as one."
    ),
    Kind.OTHER_RELEASES_MISSING: (
        "These rows were released before: of at least {n_known:count other release}, {n_given:,} "
        "were attacked together with this one. Add the others with {option}; several releases of "
        "the same rows tell more than each of them."
    ),
    Kind.PARAMETERS_KNOWN: "Every attacker knows the method and all of its public parameters.",
    Kind.NOTHING_KNOWN: (
        "How the release was made was not stated; every attacker has the release."
    ),
    Kind.KNOWLEDGE_DEALT: (
        "A sample of {n_sample:,} records, up to {n_pairs:,} known "
        "pairs, and the whole table as a public one go to the attacks that use them; records an "
        "attacker was given are not counted as recovered."
    ),
    Kind.NAMED_AT_BEST: (
        "Where statistics cannot tell independent components apart they are named at their best "
        "for the attacker."
    ),
    Kind.PAIRS_LIMITED: (
        "This audit was asked to assume that nobody knows more than {n:,} "
        "pairs; an attacker who does may get more."
    ),
    Kind.KEPT_COLUMNS_KNOWN: "Columns that left as they were are known to every attacker.",
    Kind.OTHERS_ATTACKED: "Other releases of the same rows that were attacked too: {n}.",
    Kind.CORRESPONDENCE_UNSAID: (
        "Whether row i of the release is record i was not said: guesses that need no row "
        "numbers were scored by row and by nearest record, and the better one counts."
    ),
    Kind.PERSONS_GIVEN: (
        "This audit was given whose record each row is: all records of a person "
        "were held out together."
    ),
    Kind.KEYS_DRAWN_ANEW: (
        "The intervals cover {n:count further release} under keys "
        "drawn anew, each with one {of} in five held out."
    ),
    Kind.NOT_ASKED_FOR: "it was not asked for",
    Kind.KNOWLEDGE_LACKING: "it needs {facts}, not among the knowledge given",
    Kind.PAIRS_CANNOT_BE_TOLD: (
        "it needs to know which released row is whose record, and nobody can tell"
    ),
    Kind.ERROR_WHILE_COMPUTING: "{error} while it was computing",
    Kind.TORCH_LACKING: (
        "shadow models need torch, which is not installed; install isinglass[neural]"
    ),
    Kind.THRESHOLD_ALONE: (
        "Only the loss threshold was tried; attackers who train models of their own get "
        "more, and whether the other records are like the table's was not looked at."
    ),
    Kind.OTHERS_UNLIKE: (
        "The other records were not used: models trained on half of the table tell its "
        "other half from them, so they would show what kind of records the model was "
        "trained on, not which. Draw others at random from the same records."
    ),
    Kind.OTHERS_IN_TABLE: "{n:,} of the others are in the table and were left out.",
    Kind.DRAWN_AT_RANDOM: "Of {what}, {n:,} records drawn at random took part.",
    Kind.REPEATS_BADLY: (
        "The model repeats the table's records worse than a constant would; perhaps it was not "
        "trained on them, or their columns stand in another order."
    ),
    Kind.FIT_NOT_REACHED: (
        "models trained here did not come to fit their records as closely as this model does; "
        "it was trained harder, and may remember more than the figures say"
    ),
    Kind.TOO_LOW: "The figures may be too low: {why}.",
    Kind.TABLE_IS_TRAINING: (
        "All records of the table count as those the model was trained on, though some may "
        "have been held back to stop its training; the others count as records it never saw."
    ),
    Kind.SHADOWS_ALLOWED: (
        "The attacker may train models of the same shape on records like these, the one in "
        "question among them."
    ),
    Kind.MODELS_ALIKE: (
        "The model itself was not attacked, for {why}. The figures are of "
        "{n} models made alike: of its shape, each trained on half of "
        "the table until it fits as closely, and attacked with the other half as others."
    ),
    Kind.NO_OTHERS: "no records were given that it did not see",
    Kind.OTHERS_NOT_ALIKE: "the other records given are not like the table's",
    Kind.QUOTED: "{text}",
    Kind.LEFT_OUT: "(left out of the public edition)",
}


def sentence(note: AuditNote) -> str:
    """A fact in words."""
    return _WORDS.vformat(_SENTENCES[note.kind], (), note.values)


def sentences(notes: Iterable[AuditNote]) -> tuple[str, ...]:
    """Facts in words, in their order."""
    return tuple(map(sentence, notes))


def measured(line: PolicyLine) -> str:
    """What was measured for a demand of a policy, with the reason where an attack is missing."""
    return line.measured if line.why is None else f"{line.measured}: {sentence(line.why)}"


class _Words(string.Formatter):
    """Values as they stand in a sentence."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "share":
            return share(value)
        if format_spec == "some":
            return listed(value)
        if format_spec.startswith("count "):
            return counted(value, format_spec.removeprefix("count "))
        if isinstance(value, tuple | list):
            return ", ".join(map(str, value))
        if isinstance(value, OwnersFile):
            return value.name
        if isinstance(value, AuditNote):
            return sentence(value)
        return str(super().format_field(value, format_spec))


_WORDS = _Words()
