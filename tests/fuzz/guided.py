"""Looks for inputs as libFuzzer does: what reaches code that none reached is damaged further.

One subject, in a process of its own, which `fuzz.guides` starts.

    python tests/fuzz/guided.py SUBJECT SECONDS SEED FOLDER

FOLDER/corpus/SUBJECT has what it kept, FOLDER what failed.
"""

import resource
import sys
import zlib
from pathlib import Path
from random import Random

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(include=["ticdc_encoder", "ticdc_consumer", "sqlglot"]):
    from fuzz.corpus import kept, packed, unpacked
    from fuzz.mutator import MOST_BYTES, mutated
    from fuzz.search import MEMORY, Kinds, judged
    from fuzz.subjects import subject


def main() -> None:
    name, seconds, seed, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    first = [*subject(name).corpus, *kept(name)]
    parts = len(first[0])
    kinds = Kinds(folder)

    def one(data: bytes) -> None:
        found = judged(name, unpacked(data, parts), zlib.crc32(data))
        if found is not None:
            kinds.add(found)

    def damaged(data: bytes, most: int, number: int) -> bytes:
        rng, record = Random(f"{seed} {number}"), unpacked(data, parts)
        if rng.random() < 0.6:
            return packed(mutated(rng, record, first))[:most]
        at = rng.randrange(parts)
        part: bytes = atheris.Mutate(record[at] or b"", most)
        return packed((*record[:at], part, *record[at + 1 :]))[:most]

    keeps, begins = folder / "corpus" / name, folder / "begins" / name
    for place in (keeps, begins):
        place.mkdir(parents=True, exist_ok=True)
    for number, record in enumerate(first):
        (begins / str(number)).write_bytes(packed(record))
    limits = [f"-seed={seed}", f"-max_len={MOST_BYTES}", "-len_control=0", "-timeout=600"]
    quietly = ["-rss_limit_mb=0", "-print_final_stats=1", f"-artifact_prefix={folder}/ended-"]
    most = f"-max_total_time={max(1, round(float(seconds)))}"
    places = [str(keeps), str(begins)]
    atheris.Setup([sys.argv[0], *limits, *quietly, most, *places], one, custom_mutator=damaged)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
