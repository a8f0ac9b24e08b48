"""A TiCDC changefeed: its configuration and transactions -> the messages it would send."""

from ticdc_encoder.changefeed.changefeed import Changefeed

__all__ = ["Changefeed"]
