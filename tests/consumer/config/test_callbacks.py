import pytest
from ticdc_consumer.config import Settings
from ticdc_consumer.config.callbacks import with_functions
from ticdc_consumer.errors import Usage
from ticdc_consumer.source.kafka.client import admin_settings, consumer_settings

SETTINGS = {
    "changefeed": "orders",
    "protocol": "canal-json",
    "kafka.topics": ["orders"],
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "target.url": "sqlite:////data/x.db",
}


def token(config: str) -> tuple[str, float]:
    return config, 2e9


def test_each_client_is_given_the_function_that_oauth_cb_names() -> None:
    name = f"{__name__}:token"
    options = Settings.of({**SETTINGS, "kafka.oauth_cb": name})
    assert options.kafka["oauth_cb"] == name  # what Spark's tasks get can be pickled
    for settings in (admin_settings(options.kafka), consumer_settings(options.kafka)):
        assert settings["oauth_cb"] is token


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("token", "write module:function"),
        ("no_such_module:token", "No module named 'no_such_module'"),
        (f"{__name__}:tokens", "has no attribute 'tokens'"),
        (f"{__name__}:SETTINGS", "is a dict"),
    ],
)
def test_an_oauth_cb_that_names_no_function_is_wrong_usage(name: str, reason: str) -> None:
    with pytest.raises(Usage, match=f"kafka.oauth_cb does not name a function: .*{reason}"):
        with_functions({"oauth_cb": name})
    with pytest.raises(Usage, match=r"kafka\.oauth_cb does not name a function"):
        Settings.of({**SETTINGS, "kafka.oauth_cb": name})
