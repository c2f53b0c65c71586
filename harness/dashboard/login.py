"""Page on which a person shows a token to the server, or ends the session."""

from __future__ import annotations

from harness.dashboard.links import Site
from harness.dashboard.rendering import render_view


def render_login(person: str, wanted: str, form_token: str, problem: str, site: Site) -> str:
    """Render the page.

    Args:
        person: Name of the token of whoever is logged in; empty for nobody.
        wanted: Path that the person wants to see.
        form_token: Secret that the form gives back.
        problem: Why the last attempt failed; empty without one.
        site: What all pages have in common.
    """
    return render_view(
        "login.html", site, title="Log in", person=person, wanted=wanted, form_token=form_token, problem=problem
    )
