"""Where a changefeed is, why it is there, and which ones a target has."""

from ticdc_consumer.state.causes.situation import Diagnosis
from ticdc_consumer.status.changefeeds import end, list_all
from ticdc_consumer.status.diagnosis import why, why_to_json, why_to_text
from ticdc_consumer.status.reading import Status, read
from ticdc_consumer.status.text import list_to_json, list_to_text, to_json, to_text

__all__ = [
    "Diagnosis",
    "Status",
    "end",
    "list_all",
    "list_to_json",
    "list_to_text",
    "read",
    "to_json",
    "to_text",
    "why",
    "why_to_json",
    "why_to_text",
]
