"""The documentation as a site with search: `./run docs` builds it in build/site from the same Markdown and docstrings.

Pages are gathered in build/pages as they lie in the repository, so that every link between them holds. Source files that pages
link to become pages too, folders get a list of what is in them, experiments' pages lose their own dress, and the reference is
written by mkdocstrings from the docstrings. MkDocs then builds it all, and refuses a link that leads nowhere.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from .reference import INDEX, PAGES

ROOT = Path(__file__).resolve().parent.parent
GATHERED = ROOT / "build" / "pages"
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "js/README.md", "js/example/index.html")
LEFT_OUT = shutil.ignore_patterns("*.parquet", "summary.json", ".parts", ".*")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)
SHOWN = {".py": "python", "": "text"}
"""Source files that are shown as pages, and the language they are written in."""
DRESS = """
.md-grid{max-width:76rem}
.md-typeset .cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(14rem,1fr));gap:1rem;margin:1rem 0}
.md-typeset .card{border:1px solid var(--md-default-fg-color--lightest);border-radius:.3rem;padding:.6rem;overflow:hidden}
.md-typeset .card img{height:8rem;width:100%;object-fit:contain;background:#fff}
.md-typeset .card a{display:block;color:inherit}
.md-typeset .card b{display:block}
.md-typeset .soft{color:var(--md-default-fg-color--light);font-size:.85em}
.md-typeset img[src$=".svg"]{background:#fff}
.md-typeset .scroll,.md-typeset__table{overflow-x:auto}
.md-typeset p code{overflow-wrap:anywhere}
.md-typeset td:first-child code{word-break:normal}
@media(max-width:30em){.md-typeset table:not([class]) :is(th,td){min-width:0;padding:.5em .4em}}
"""


def gather(folder: Path = GATHERED) -> None:
    """Write all that the site is made of to a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=LEFT_OUT)
    for name in TOP:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    shutil.copytree(ROOT / "js" / "src", folder / "js" / "src")  # which the example loads
    for page in sorted((folder / "docs" / "reproductions").rglob("index.html")):
        _undress(page)
    (folder / INDEX.relative_to(ROOT)).write_text(_names(), encoding="utf-8")
    for name, modules in PAGES.items():
        _reference(folder / "docs" / "reference" / f"{name}.md", name, modules)
    for page in sorted(folder.rglob("*.md")):
        page.write_text(_linked(page, folder), encoding="utf-8")
    (folder / "site.css").write_text(DRESS, encoding="utf-8")


def _undress(page: Path) -> None:
    """An experiment's page as one of the site's: what it says, under the same address, without its own style."""
    text = page.read_text(encoding="utf-8")
    body = text.partition("<body>")[2].partition("</body>")[0]
    title = re.search(r"<title>(.*?)</title>", text)
    page.with_name("README.md").write_text(
        f"---\ntitle: {title[1] if title else page}\n---\n\n{body}\n", encoding="utf-8"
    )
    page.unlink()


def _names() -> str:
    """The list of public names, in which a room leads to its page and not each name to its source."""
    text = re.sub(r"\[(\w+)\]\(\.\./\.\./confide/[^)]*\)", r"`\1`", INDEX.read_text(encoding="utf-8"))
    return re.sub(r"^## (\w+)$", r"## [\1](\1.md)", text, flags=re.MULTILINE)


def _reference(page: Path, name: str, modules: tuple[str, ...]) -> None:
    """A page of the reference: what docstrings say, written by mkdocstrings."""
    room = "confide" if name == "confide" else f"confide.{name}"
    lines = [f"# {room}", ""]
    for module in modules:
        lines += [] if module == room else [f"## {module}", ""]
        lines += [f"::: {module}", ""]
    page.write_text("\n".join(lines), encoding="utf-8")


def _linked(page: Path, folder: Path) -> str:
    """A page whose links to sources and folders lead to pages about them, which are made if there are none yet."""
    text = page.read_text(encoding="utf-8")
    fenced = [match.span() for match in FENCED.finditer(text)]

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if "://" in target or any(start <= match.start() < end for start, end in fenced):
            return match[0]
        there = Path(os.path.normpath(page.parent / target))
        source = ROOT / there.relative_to(folder)
        if source.is_dir():
            _listing(there, source)
            return f"]({target.rstrip('/')}/README.md{anchor})"
        if source.suffix in SHOWN:
            _shown(there.with_name(f"{there.name}.md"), source)
            return f"]({target}.md{anchor})"
        if source.name == "index.html" and (there.with_name("README.md")).exists():
            return f"]({target.removesuffix('index.html')}README.md{anchor})"
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, there)
        return match[0]

    return LINK.sub(link, text)


def _shown(page: Path, source: Path) -> None:
    """A source file as a page."""
    page.parent.mkdir(parents=True, exist_ok=True)
    body = source.read_text(encoding="utf-8").rstrip()
    name = source.relative_to(ROOT).as_posix()
    page.write_text(f"# {name}\n\n~~~~{SHOWN[source.suffix]}\n{body}\n~~~~\n", encoding="utf-8")


def _listing(folder: Path, source: Path) -> None:
    """A page that lists the pages of a folder, by their titles."""
    titles = {
        path.name: path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in source.glob("*.md")
    }
    lines = [f"- [{title}]({name})" for name, title in sorted(titles.items())]
    (folder / "README.md").write_text("\n".join([f"# {source.name.capitalize()}", "", *lines, ""]), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Gather, and build or (`./run docs serve`) show what was built while it is written."""
    from mkdocs.__main__ import cli

    gather()
    os.chdir(ROOT)
    command = arguments or ["build", "--strict"]
    cli(command, standalone_mode=False)
    if command[0] == "build":
        print(f"built: {ROOT / 'build' / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
