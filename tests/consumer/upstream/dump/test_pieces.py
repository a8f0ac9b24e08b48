"""A file in pieces, of whatever size and codec: all lines, each once."""

from pathlib import Path

import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.storage.files import Files
from ticdc_consumer.upstream.dump import pieces as pieces_
from ticdc_consumer.upstream.dump.pieces import Piece, PieceReader, format_of, pieces

LINES = [b"", b"a", b"bb" * 3, b"c" * 40, b"", b"d" * 7, b"e"]
CONTENT = b"".join(line + b"\n" for line in LINES)
PACKED = {"": None, ".gz": "gzip", ".zst": "zstd"}


@pytest.fixture(params=PACKED)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return written(tmp_path, request.param, CONTENT)


def written(folder: Path, ending: str, content: bytes) -> str:
    name = f"s.t.0.sql{ending}"
    packing = PACKED[ending]
    plain = pa.OSFile(str(folder / name), "wb")
    with plain, pa.CompressedOutputStream(plain, packing) if packing else plain as file:
        file.write(content)
    return name


def cut(folder: Path, path: str, size: int, ending: bytes = b"\n") -> list[Piece]:
    with PieceReader(Files(str(folder))) as reader:
        length = (folder / path).stat().st_size
        return list(pieces(reader, path, length, size, ending))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 41, 1000])
def test_pieces_of_any_size_have_every_line_once(
    size: int, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in (1, 7, 1 << 20):
        monkeypatch.setattr(pieces_, "BLOCK", block)
        monkeypatch.setattr(pieces_, "_AHEAD", block)
        made = cut(tmp_path, path, size)
        assert [piece.begin for piece in made[1:]] == [piece.end for piece in made[:-1]]
        assert all(piece.end - piece.begin <= max(size, 41) + size for piece in made)
        with PieceReader(Files(str(tmp_path))) as reader:
            assert b"".join(map(reader.read, made)) == CONTENT
            # As tasks do, which go on with whatever is left.
            assert b"".join(map(reader.read, reversed(made[::2]))) == b"".join(
                CONTENT[piece.begin : piece.end] for piece in reversed(made[::2])
            )


@pytest.mark.parametrize("content", [CONTENT, b"", b"x" * 7, b"x" * 8])
def test_a_file_is_read_whole_where_ranges_beyond_it_are_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cat_file = LocalFileSystem.cat_file

    def as_an_object_store(
        self: LocalFileSystem, path: str, start: int | None = None, end: int | None = None
    ) -> bytes:
        if start is not None and start >= Path(path).stat().st_size:
            raise OSError(22, "The requested range is not satisfiable")
        read: bytes = cat_file(self, path, start, end)
        return read

    monkeypatch.setattr(LocalFileSystem, "cat_file", as_an_object_store)
    monkeypatch.setattr(pieces_, "BLOCK", 4)
    (tmp_path / "s.t-schema.sql").write_bytes(content)
    with PieceReader(Files(str(tmp_path))) as reader:
        assert b"".join(reader.blocks("s.t-schema.sql")) == content


def test_small_rows_make_more_pieces(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(cut(tmp_path, path, 1 << 20)) == 1
    monkeypatch.setattr(pieces_, "MOST_ROWS", 1)
    assert len(cut(tmp_path, path, 1 << 20)) > 2


@pytest.mark.parametrize("ending", PACKED)
def test_a_file_that_ends_within_a_row_is_refused(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path, ending, b"(1),\n(2);\n(3")
    with pytest.raises(Stop, match=rf"{path} is cut off: its last row does not end"):
        cut(tmp_path, path, 100, b";\n")


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("length", [0, 3, 12, 30])
def test_a_compressed_file_that_is_cut_off_is_refused(
    ending: str, length: int, tmp_path: Path
) -> None:
    path = written(tmp_path, ending, CONTENT)
    file = tmp_path / path
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(Stop, match=rf"{path} is (damaged or )?cut off"):
        cut(tmp_path, path, 10)


def test_a_file_that_changed_or_went_during_the_load_is_named(path: str, tmp_path: Path) -> None:
    *_, last = cut(tmp_path, path, 10)
    written(tmp_path, path.removeprefix("s.t.0.sql"), CONTENT[:-5])
    with PieceReader(Files(str(tmp_path))) as reader:
        with pytest.raises(Stop, match=rf"{path}: the file is not as it was when the load began"):
            reader.read(last)
        (tmp_path / path).unlink()
        with pytest.raises(Stop, match=rf"{path} is no longer in \[source\] dump"):
            reader.read(last)


def test_a_format_is_known_by_the_name() -> None:
    assert [format_of(name) for name in ("s.csv.0.sql.gz", "s.sql.0.csv")] == ["sql", "csv"]
