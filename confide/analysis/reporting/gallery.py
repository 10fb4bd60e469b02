"""Pages of experiments: one for each, and a gallery of all. Plain HTML, no network, no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root{--ink:#222;--soft:#666;--line:#ddd}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);background:#fff;max-width:60rem;
margin:2.5rem auto;padding:0 1.2rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .4rem}
h2{font-size:1.1rem;margin:2.2rem 0 .5rem}
p{margin:.45rem 0;max-width:46rem}
a{color:#0b5c94}
.soft{color:var(--soft);font-size:.88rem}
img{max-width:100%;height:auto;display:block;margin:1rem 0}
table{border-collapse:collapse;font-size:.85rem;margin:.6rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)}
.scroll{overflow-x:auto}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:1.6rem;margin:1rem 0}
.card{border:1px solid var(--line);border-radius:6px;padding:.8rem;overflow:hidden}
.card img{margin:0 0 .6rem;height:10rem;width:100%;object-fit:contain}
.card a{text-decoration:none;color:inherit;display:block}
.card b{display:block;line-height:1.3}
footer{margin:3rem 0 1rem;border-top:1px solid var(--line);padding-top:.7rem;color:var(--soft);font-size:.85rem}
"""


@dataclass(frozen=True)
class GalleryEntry:
    """One experiment in a gallery. `page` and `picture` are links; the picture may be missing."""

    address: str
    title: str
    page: str
    picture: str
    note: str


@dataclass(frozen=True)
class ExperimentText:
    """What a page says of one experiment: headed paragraphs, pictures (links), and a table whose first row is its head."""

    title: str
    address: str
    paragraphs: Sequence[tuple[str, str]]
    pictures: Sequence[str]
    table: Sequence[Sequence[str]]


def experiment_page(text: ExperimentText, footer: str, home: str) -> str:
    """The page of one experiment. home: a link to all of them."""
    title = escape(text.title)
    body = [f'<p class="soft"><a href="{escape(home)}">All experiments</a></p><h1>{title}</h1>']
    body.append(f'<p class="soft">{escape(text.address)}</p>')
    body += [f"<h2>{escape(head)}</h2><p>{escape(words)}</p>" for head, words in text.paragraphs if words]
    body.append("<h2>The result</h2>")
    body += [f'<img src="{escape(name)}" alt="{title}">' for name in text.pictures]
    body.append(_table(text.table))
    return _page(text.title, "\n".join(body), footer)


def gallery_page(groups: Sequence[tuple[str, Sequence[GalleryEntry]]], introduction: str, footer: str) -> str:
    """The gallery: cards in groups."""
    parts = ["<h1>Every figure and table, ours beside theirs</h1>", f"<p>{escape(introduction)}</p>"]
    for name, entries in groups:
        cards = "".join(map(_card, entries))
        parts.append(f'<h2>{escape(name)}</h2><div class="cards">{cards}</div>')
    return _page("Reproductions", "\n".join(parts), footer)


def _card(entry: GalleryEntry) -> str:
    picture = f'<img src="{escape(entry.picture)}" alt="">' if entry.picture else ""
    caption = f'<b>{escape(entry.title)}</b><span class="soft">{escape(entry.address)}<br>{escape(entry.note)}</span>'
    return f'<div class="card"><a href="{escape(entry.page)}">{picture}{caption}</a></div>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f'<div class="scroll"><table><tr>{heads}</tr>{lines}</table></div>'


def _page(title: str, body: str, footer: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n{body}\n"
        f"<footer>{escape(footer)}</footer></body></html>\n"
    )
