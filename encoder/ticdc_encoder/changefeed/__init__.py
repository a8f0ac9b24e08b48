"""A TiCDC changefeed: a configuration and transactions -> the messages or files it would write."""

from ticdc_encoder.changefeed.changefeed import Changefeed
from ticdc_encoder.changefeed.storage import StorageChangefeed, StorageFile

__all__ = ["Changefeed", "StorageChangefeed", "StorageFile"]
