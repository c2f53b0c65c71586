"""A real Chromium that opens pages as files, and says what it was refused or complained about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

Opener = Callable[..., "tuple[Page, list[str]]"]
"""Opens a text as a page, `open_page(text, width=1280, scheme="light")`: Playwright's page, and a list of requests to
anywhere, messages of the console, errors and dialogs."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start Chromium for a module; without it tests are skipped, or fail where CI is set.

    As long as Playwright runs, its thread has a running event loop, in which no other test could start one of its own.
    """
    if not os.environ.get("CI"):
        pytest.importorskip("playwright.sync_api")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    program = shutil.which("chromium")
    if program is None and os.environ.get("CI"):
        pytest.fail("chromium is not installed")
    if program is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Return a function that opens a text as a page of its own."""
    contexts: list[BrowserContext] = []

    def open_text(text: str, width: int = 1280, scheme: str = "light") -> tuple[Page, list[str]]:
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
        )
        contexts.append(context)
        page = context.new_page()
        complaints: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            complaints.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", dismiss)
        page.on("request", lambda request: complaints.append(f"request: {request.url}"))
        page.goto(file.as_uri())
        complaints.remove(f"request: {file.as_uri()}")
        return page, complaints

    yield open_text
    for context in contexts:
        context.close()
