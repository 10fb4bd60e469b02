"""Mutants of who is charged for which data, of who is one person, and of what a fit says besides its release."""

from __future__ import annotations

from .planted import Mutant

ALIASES, NAMES, ORDER = (
    "tests/analysis/fitting/test_aliases.py",
    "tests/data/trajectories/test_names.py",
    "tests/data/trajectories/test_order.py",
)
ALIAS, RACE = (
    f"{ALIASES}::test_an_alias_is_not_charged_to_a_second_ledger",
    f"{ALIASES}::test_of_two_fits_at_once_one_is_charged",
)
TEXT, TYPES = f"{NAMES}::test_a_text_that_means_the_same_person", f"{NAMES}::test_types_that_name_the_same_person"
NO_NUMBER = "An attack on what is released does not see which ledger is charged."
NO_PERSON = "An attack hands over people whose names are plain."
NO_OUTPUT = "An attack looks at the release, and not at what is said besides."

MUTANTS = (
    Mutant(
        "home is not expanded where the ledger beside data is looked for",
        "data/trajectories/places.py",
        "    return [Path(text).expanduser() for text in texts",
        "    return [Path(text) for text in texts",
        (f"{ALIASES}::test_home_is_where_it_is",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "home is not expanded in the name of a ledger",
        "analysis/fitting/budget.py",
        "    named = Path(path).expanduser() if path is not None",
        "    named = Path(path) if path is not None",
        (f"{ALIASES}::test_home_is_where_it_is",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "the content of data is not looked up",
        "analysis/fitting/budget.py",
        "    for _, data in alike(digests):\n",
        "    for _, data in alike({}):\n",
        (f"{ALIAS}[a copy]", f"{ALIAS}[another name]"),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "the content of data is looked up in its own folder only",
        "analysis/fitting/fingerprints.py",
        "    yield folder.parent\n",
        "",
        (f"{ALIAS}[a copy below]",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "the lock at the charge is shared",
        "analysis/fitting/fingerprints.py",
        "fcntl.flock(handle, fcntl.LOCK_EX)",
        "fcntl.flock(handle, fcntl.LOCK_SH)",
        (f"{RACE}[at once-one file, two ledgers]",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "ledgers are not looked for again at the charge",
        "analysis/fitting/budget.py",
        "            now = place(homes, self.ledger.path, None, digests)\n",
        "            now = self.place_or_none\n",
        (f"{RACE}[in turn-one file, two ledgers]",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "files that only the count shows are not looked up",
        "analysis/fitting/fit.py",
        "self.account.spend(self.cost, spent_on, counted.files)",
        "self.account.spend(self.cost, spent_on)",
        (f"{ALIASES}::test_files_that_only_the_count_shows_are_looked_up_before_the_charge",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "files that DuckDB opens are not remembered",
        "data/trajectories/sources.py",
        "WHERE op = 'OPEN'",
        "WHERE op = 'SHUT'",
        (f"{ALIAS}[a query in double quotes]", f"{ALIAS}[a view]"),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "a query may be several statements",
        "data/trajectories/sources.py",
        "len(connection.extract_statements(query)) != 1",
        "len(connection.extract_statements(query)) < 1",
        (f"{ALIASES}::test_a_query_is_one_statement",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "the key of fingerprints is for everybody",
        "analysis/fitting/fingerprints.py",
        "os.O_WRONLY, 0o600)",
        "os.O_WRONLY, 0o644)",
        (f"{ALIASES}::test_the_key_is_for_its_owner_and_in_no_ledger",),
        unseen=NO_OUTPUT,
    ),
    Mutant(
        "fingerprints have no key",
        "analysis/fitting/fingerprints.py",
        "hashlib.blake2b(digest, key=key, digest_size=16)",
        "hashlib.blake2b(digest, digest_size=16)",
        (f"{ALIASES}::test_a_fingerprint_is_no_function_of_the_data_alone",),
        unseen=NO_OUTPUT,
    ),
    Mutant(
        "the certificate does not say that no note could be left",
        "analysis/fitting/fit.py",
        "self._certificate(drawn_by).assuming(remarks)",
        "self._certificate(drawn_by).assuming(())",
        (f"{ALIASES}::test_the_certificate_says_what_was_not_excluded",),
        unseen=NO_NUMBER,
    ),
    Mutant(
        "names are compared as their accents are written",
        "data/trajectories/keys.py",
        'pc.utf8_normalize(text, "NFKC")',
        "text",
        (TEXT,),
        unseen=NO_PERSON,
    ),
    Mutant(
        "the end of a line is part of a name",
        "data/trajectories/hashing.py",
        "        while begin < end and text[end - 1] <= SPACE:\n",
        "        while begin < end and text[end - 1] == SPACE:\n",
        (TEXT,),
        unseen=NO_PERSON,
    ),
    Mutant(
        "a UUID in large letters is another",
        "data/trajectories/hashing.py",
        "text[j] if ZERO <= text[j] <= NINE else text[j] | LETTER",
        "text[j]",
        (TEXT,),
        unseen=NO_PERSON,
    ),
    Mutant(
        "moments are compared in their own units",
        "data/trajectories/keys.py",
        'pc.cast(column, pa.timestamp("us", zone), safe=False)',
        "column",
        (TYPES,),
        unseen=NO_PERSON,
    ),
    Mutant(
        "people are sorted by names that are not in one form",
        "data/trajectories/order.py",
        "named(batch.column(column))",
        "batch.column(column)",
        (TYPES,),
        unseen=NO_PERSON,
    ),
    Mutant(
        "all rows of a person are weighed where one is to be",
        "data/statistics/weighing.py",
        "    mine = episodes.begun[episodes.drawn] - base\n",
        "    mine = episodes.begun - base\n",
        ("tests/analysis/fitting/test_propensities.py::test_of_a_person_with_several_rows_one_is_weighed",),
        unseen="The audit of a fit has people with one row each.",
    ),
    Mutant(
        "rows are ordered by the letters of texts",
        "data/trajectories/order.py",
        "if self.numbered else column",
        "if self.column is None else column",
        (f"{ORDER}::test_texts_are_ordered_by_their_number_and_not_by_their_letters",),
        unseen=NO_PERSON,
    ),
    Mutant(
        "of texts that order rows only the first has a form",
        "data/trajectories/order.py",
        "        if not kept:\n",
        "        if kept is None:\n",
        (f"{ORDER}::test_texts_whose_order_is_not_plain_are_refused",),
        unseen=NO_PERSON,
    ),
    Mutant(
        "a certificate whose converted epsilon was edited by a tenth is believed",
        "privacy/certificate.py",
        "rel_tol=1e-6",
        "rel_tol=0.2",
        ("tests/privacy/test_certificate.py::test_a_converted_epsilon_that_was_edited_is_refused",),
        unseen="An attack looks at what is released, and not at what is written about it.",
    ),
    Mutant(
        "a fit says how many rows it read and clipped",
        "cli/fit.py",
        '{**choices, "stage": stage}',
        '{**choices, "stage": stage, "on_counted": _note_counts}',
        ("tests/cli/test_neighbours.py",),
        unseen=NO_OUTPUT,
    ),
)
