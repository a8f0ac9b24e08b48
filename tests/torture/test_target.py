"""What an observer sees of a target."""

from ticdc_torture.history import TableState
from ticdc_torture.target import ObservedTarget, ResolvedTs


def test_a_table_with_changed_columns_is_seen_with_them(sqlite_url: str) -> None:
    target = ObservedTarget(sqlite_url, "w", ["a"], ResolvedTs())
    looks: list[TableState] = []
    for columns in ("b INT", "c0 INT, id INT"):
        with target._engine.connect() as connection:
            connection.exec_driver_sql("DROP TABLE IF EXISTS a")
            connection.exec_driver_sql(f"CREATE TABLE a ({columns})")
        looks += target.look().tables
    target.close()
    assert looks == [("a", ("b",), ()), ("a", ("c0", "id"), ())]
