"""Pages of experiments say what their data shows, and documents have the tables of their pages."""

from __future__ import annotations

import pytest

from confide.experiments.catalogue import catalogue
from tools.pages import DOCUMENTS, filled, said

SLOW = {"ours/claimed-and-true"}
"""Whose words take half a minute of accounting: renewed with the table, by the same code."""


@pytest.mark.parametrize("address", sorted(set(catalogue()) - SLOW))
def test_a_page_says_what_its_data_shows(address: str) -> None:
    both = said(address)
    if both is None:
        pytest.skip("it has no page at the full scale")
    assert both[0] == both[1], "renew it: python -m tools.pages"


def test_documents_have_the_tables_of_the_pages() -> None:
    for document in DOCUMENTS.glob("*.md"):
        text = document.read_text(encoding="utf-8")
        assert filled(text) == text, f"renew {document.name}: python -m tools.pages"
