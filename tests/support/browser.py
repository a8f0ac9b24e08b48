"""A Chromium without a window, driven through its chromedriver."""

import shutil
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By

from support.server_address import missing

Scheme = Literal["light", "dark"]
DESKTOP, PHONE = 1280, 375
"""Widths of a window, in CSS pixels."""
HEIGHT = 800

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # it is root who runs it in CI
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


@contextmanager
def browser() -> Iterator[Chrome]:
    """Left out, or failed, without `chromium` and `chromedriver` in the PATH."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or missing("there is no chromium")
    driver = shutil.which("chromedriver") or missing("there is no chromedriver")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = Chrome(options, ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def look_at(chrome: Chrome, url: str, width: int = DESKTOP, scheme: Scheme = "light") -> None:
    """Opens it as a screen of this width shows it."""
    metrics = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width == PHONE}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)
    chrome.get(url)


def console(chrome: Chrome) -> list[str]:
    """What the browser has to say since it was asked last."""
    return [entry["message"] for entry in chrome.get_log("browser")]  # type: ignore[no-untyped-call]


def text_of(chrome: Chrome, selector: str) -> str:
    """What a reader sees of the first such element, in one line."""
    return " ".join(chrome.find_element(By.CSS_SELECTOR, selector).text.split())


def picture(chrome: Chrome, path: Path) -> None:
    """The whole page, not only what fits the window, as PNG."""
    size = chrome.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {**size, "scale": 1}
    shot = chrome.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
    )
    path.write_bytes(b64decode(shot["data"]))
