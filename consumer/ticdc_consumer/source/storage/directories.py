"""Directories that number their files, as places: their names, and when they are settled."""

from datetime import UTC, datetime, timedelta

from ticdc_encoder.storage.layout import DataFile, Directory, PathLayout
from ticdc_encoder.tso import moment

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.plan import Place

SETTLED_AFTER = timedelta(days=2)
"""A date is of the writer's time zone (up to 14 hours from UTC), and clocks differ."""


def layout_of(options: Options) -> PathLayout:
    return PathLayout(
        date_separator=options.storage_date_separator, table_id_paths=options.storage_table_ids
    )


def place_of(directory: Directory) -> Place:
    writer = "" if directory.dispatcher is None else f"/CDC_{directory.dispatcher}"
    return directory.path.rstrip("/") + writer, 0


def directory_of(layout: PathLayout, place: Place) -> Directory:
    """The directory of a place that `place_of` named. Raises `Stop` where it has none, since that
    was under another layout."""
    name = place[0]
    written = "CDC_" in name.rpartition("/")[2]
    found = layout.data_file(f"{name}_1.json" if written else f"{name}/CDC1.json")
    if found is None:
        raise Stop(
            f"{name} is in the checkpoint, but no directory under date_separator and "
            "table_id_paths of [storage]: set them back to what they were"
        )
    return found.directory


def files_of_place(layout: PathLayout, place: Place, paths: list[str]) -> dict[int, str]:
    """Of some paths those that the place numbers."""
    directory = directory_of(layout, place)
    found: dict[int, str] = {}
    for path in paths:
        file: DataFile | None = layout.data_file(path)
        if file is not None and file.directory == directory:
            found[file.number] = path
    return found


def settled(directory: Directory, resolved_ts: int) -> bool:
    """Whether all rows that were ever written there are below R, by the calendar."""
    ended = None if directory.date is None else _end(directory.date)
    return ended is not None and ended <= moment(resolved_ts) - SETTLED_AFTER


def require_date(directory: Directory) -> None:
    """Raises `Stop` where the date was over before the table's version began, of which no file was
    written yet: it is no date, but a partition's id."""
    if settled(directory, directory.version):
        name, _ = place_of(directory)
        raise Stop(
            f"{name}: {directory.date} was over when the table's version began, at "
            f"{moment(directory.version):%Y-%m-%d}: is date_separator of [storage] the "
            "changefeed's? (ids of partitions look like years)"
        )


def _end(written: str) -> datetime | None:
    """When a day, month or year ends, in UTC; None for what is no date, and for the calendar's
    last."""
    parts = [int(part) for part in written.split("-")]
    year, month, day = (*parts, 1, 1)[:3]
    try:
        first = datetime(year, month, day, tzinfo=UTC)
        if len(parts) == 1:
            return first.replace(year=year + 1)
        if len(parts) == 2:
            return (first + timedelta(days=31)).replace(day=1)
        return first + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
