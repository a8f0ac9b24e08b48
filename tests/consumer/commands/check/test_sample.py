"""What the first messages of a topic tell `check`."""

from ticdc_consumer.commands.check.sample import Sample
from ticdc_encoder.event import Ddl


def test_a_table_has_the_character_set_of_its_database() -> None:
    sample = Sample()
    for number, (table, query) in enumerate(
        [
            ("", "CREATE DATABASE `s` CHARACTER SET = utf8 COLLATE = utf8_bin"),
            ("a", "CREATE TABLE `a` (`id` INT PRIMARY KEY, `n` VARCHAR(9))"),
            ("", "ALTER DATABASE `s` CHARACTER SET = latin1"),
            ("b", "CREATE TABLE `b` (`id` INT PRIMARY KEY, `n` VARCHAR(9))"),
            ("c", "CREATE TABLE `c` (`id` INT PRIMARY KEY, `n` VARCHAR(9)) CHARACTER SET = ascii"),
        ]
    ):
        sample.add(("topic", 0), Ddl("s", table, query, number))
    found = {name: table.column("n").type.charset for (_, name), table in sample.created.items()}
    assert found == {"a": "utf8", "b": "latin1", "c": "ascii"}
