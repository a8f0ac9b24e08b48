"""Settings by name, as the fields of `Settings` declare them."""

from dataclasses import MISSING, fields
from typing import TypeVar

from ticdc_consumer.config.declaring import Section, Setting, UrlSetting
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.suggesting import did_you_mean
from ticdc_consumer.errors import Usage

Declared = TypeVar("Declared", Setting, UrlSetting, Section)


def _declared(kind: type[Declared]) -> dict[str, Declared]:
    """The declarations of one kind, by option."""
    declared = {f.name: f.metadata["setting"] for f in fields(Settings)}
    return {option: d for option, d in declared.items() if isinstance(d, kind)}


SETTINGS = _declared(Setting)
URLS = _declared(UrlSetting)
SECTIONS = _declared(Section)

OTHER_VARIABLES = frozenset({"TICDC_DEBUG", "TICDC_FAILPOINT"})
"""Environment variables that are not settings."""

NAMES = frozenset(setting.name for setting in SETTINGS.values())
TABLES = tuple(setting.name for setting in SETTINGS.values() if setting.is_table)
PREFIXES = tuple(f"{section.name}." for section in SECTIONS.values())
"""Prefixes of the names of settings that pass through."""
REQUIRED = (
    *(
        SETTINGS[option.name].name
        for option in fields(Settings)
        if option.name in SETTINGS
        and option.default is MISSING
        and option.default_factory is MISSING
    ),
    SECTIONS["kafka"].example,
)


def _url_settings(url: UrlSetting) -> dict[str, str]:
    return {
        url.name: url.help,
        f"{url.name}_file": "file with the URL",
        url.password: "password for the URL",
        f"{url.password}_file": "file with the password",
    }


URL_SETTINGS = {name: text for url in URLS.values() for name, text in _url_settings(url).items()}


def described() -> dict[str, str]:
    """Returns each setting's help by name, section by section; a section that passes through has
    one name."""
    texts = {
        **{setting.name: setting.help for setting in SETTINGS.values()},
        **URL_SETTINGS,
        **{f"{section.name}.*": section.help for section in SECTIONS.values()},
    }
    return dict(sorted(texts.items(), key=lambda one: ("." in one[0], one[0].partition(".")[0])))


def examples() -> list[str]:
    """Every listable name, and an example of each section that passes through."""
    names = [setting.name for setting in SETTINGS.values()]
    return [*names, *URL_SETTINGS, *(section.example for section in SECTIONS.values())]


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return "TICDC_" + name.upper().replace(".", "_")


def require_known(name: str) -> None:
    """Raises `Usage` with the nearest name if there is no such setting."""
    if name in NAMES or name in URL_SETTINGS or name.startswith(PREFIXES):
        return
    raise Usage(f"there is no setting {name}{did_you_mean(name, examples())}")
