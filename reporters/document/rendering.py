"""Templates of pages and pictures: jinja2, which escapes every text, imported only where a page is written.

Whatever a template shows becomes one printable line first, so that no name moves the cursor, reverses the text around
it or breaks a line. What keeps its spaces, such as a command, goes through the filter `verbatim`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from harness.presentation.text import make_printable
from reporters.document.picture import Picture

if TYPE_CHECKING:
    from jinja2 import Environment

_SHARED: Final = "reporters.document"
_PICTURE_STYLES: Final = ("document/colours.css", "document/pictures.css")


def render_page(
    package: str, template: str, *, title: str, own_styles: Sequence[str] = (), own_script: str = "", **values: object
) -> str:
    """Render a template that extends `document/page.html`.

    Args:
        package: Package of the reporter, with a folder `templates`.
        template: File name in that folder.
        title: Title of the window.
        own_styles: Style sheets in that folder, behind those of all pages.
        own_script: Script in that folder, behind that of all pages; empty for none.
        values: Values that the template uses.
    """
    environment = load_environment(package)
    scripts = ("document/sort.js", f"own/{own_script}") if own_script else ("document/sort.js",)
    script = _read_sources(environment, *scripts)
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    styles = (*_PICTURE_STYLES, "document/page.css", *(f"own/{name}" for name in own_styles))
    return environment.get_template(f"own/{template}").render(
        title=title,
        policy=policy,
        style=Markup(_read_sources(environment, *styles)),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704
        **values,
    )


def render_picture(picture: Picture, *, is_file: bool = False) -> Markup:
    """Render a picture as SVG.

    Args:
        picture: The picture.
        is_file: Whether it becomes a file of its own, with its own style and background; else it is part of a page.
    """
    environment = load_environment(_SHARED)
    style = Markup(_read_sources(environment, *_PICTURE_STYLES)) if is_file else ""  # noqa: S704
    text = environment.get_template("document/picture.svg").render(picture=picture, style=style, is_file=is_file)
    return Markup(text)  # noqa: S704 - the template has escaped every text


@cache
def load_environment(package: str) -> Environment:
    """Return the environment for the templates of a package, those that all share under `document/`."""
    from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined  # noqa: PLC0415 - only for pages

    environment = Environment(
        loader=PrefixLoader({"document": PackageLoader(_SHARED), "own": PackageLoader(package)}),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_make_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["verbatim"] = keep_spaces
    environment.filters["draw"] = render_picture
    return environment


def keep_spaces(text: str) -> Markup:
    """Return a text as HTML with all its spaces, but without characters that are not printable."""
    shown = (character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return escape("".join(shown))


def _make_safe(value: object) -> object:
    return value if isinstance(value, Markup) or not isinstance(value, str) else make_printable(value)


def _read_sources(environment: Environment, *names: str) -> str:
    return "".join(_read_source(environment, name) for name in names)


def _read_source(environment: Environment, name: str) -> str:
    if environment.loader is None:
        return ""
    return environment.loader.get_source(environment, name)[0]
