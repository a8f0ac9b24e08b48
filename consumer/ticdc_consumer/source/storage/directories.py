"""Directories that number their files, as partitions: their names, and when they are settled."""

from datetime import UTC, datetime, timedelta

from ticdc_encoder.storage.layout import DataFile, Directory, PathLayout
from ticdc_encoder.tso import moment

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.marks import TopicPartition

SETTLED_AFTER = timedelta(days=2)
"""Margin after a date, which is of the writer's time zone (up to 14 hours from UTC); clocks
differ."""


def layout_of(options: ReadSettings) -> PathLayout:
    return PathLayout(
        date_separator=options.storage_date_separator, table_id_paths=options.storage_table_ids
    )


def partition_of(directory: Directory) -> TopicPartition:
    writer = "" if directory.dispatcher is None else f"/CDC_{directory.dispatcher}"
    return directory.path.rstrip("/") + writer, 0


def directory_of(layout: PathLayout, partition: TopicPartition) -> Directory:
    """The directory that `partition_of` named. Raises `Stop` if the layout has none of that name,
    because the name was given under another layout."""
    name = partition[0]
    has_writer = "CDC_" in name.rpartition("/")[2]
    file = layout.data_file(f"{name}_1.json" if has_writer else f"{name}/CDC1.json")
    if file is None:
        raise Stop(
            f"{name} is in the checkpoint, but no directory under date_separator and "
            "table_id_paths of [storage]: set them back to what they were"
        )
    return file.directory


def files_of_partition(
    layout: PathLayout, partition: TopicPartition, paths: list[str]
) -> dict[int, str]:
    """The paths among `paths` that the directory numbers, by number."""
    directory = directory_of(layout, partition)
    numbered: dict[int, str] = {}
    for path in paths:
        file: DataFile | None = layout.data_file(path)
        if file is not None and file.directory == directory:
            numbered[file.number] = path
    return numbered


def settled(directory: Directory, resolved_ts: int) -> bool:
    """Returns whether all rows ever written there are below R, by the calendar."""
    ended = None if directory.date is None else _end(directory.date)
    return ended is not None and ended <= moment(resolved_ts) - SETTLED_AFTER


def require_date(directory: Directory) -> None:
    """Raises `Stop` if the date was over before the table's version began: no file can have been
    written then, so it is not a date, but a partition's id."""
    if settled(directory, directory.version):
        name, _ = partition_of(directory)
        raise Stop(
            f"{name}: {directory.date} was over when the table's version began, at "
            f"{moment(directory.version):%Y-%m-%d}: is date_separator of [storage] the "
            "changefeed's? (ids of partitions look like years)"
        )


def _end(date: str) -> datetime | None:
    """End of a day, month or year, in UTC; None for an invalid date, and for the calendar's
    last."""
    parts = [int(part) for part in date.split("-")]
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
