"""What others on the machine see of a JVM that was started with secrets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ticdc_consumer.cut.spark.launch import private_settings

SECRET = "b4ttery-st4ple"

# It looks all the time at all processes, also at those that start the JVM and end before it runs.
PROGRAM = """
import os, sys, threading, pathlib
from ticdc_consumer.cut.spark.session import session, warm_up
secret = sys.stdin.read()
seen, looks, done = set(), 0, threading.Event()
own = pathlib.Path("/proc/self/cmdline").read_bytes()  # also of what it has forked

def look():
    global looks
    while not done.is_set():
        looks += 1
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"bin/java" in (line := (process / "cmdline").read_bytes()):
                    seen.add("java")
                environment = (process / "environ").read_bytes() if line != own else b""
            except OSError:
                continue
            for place, text in (("command line", line), ("environment", environment)):
                if secret.encode() in text:
                    seen.add(f"{place} of {line.split(bytes(1))[0].decode()}")

thread = threading.Thread(target=look, daemon=True)  # if Spark fails, it ends with us
thread.start()
spark = session(
    {
        "master": "local[1]",
        "hadoop.fs.s3a.secret.key": secret + "=\\\\ \\u00fc",
        "driver.extraJavaOptions": f"-Dfirst={secret} '-Dsecond=of two words'",
    },
    "private",
)
warm_up(spark, 1)
done.set()
thread.join()
jvm = spark.sparkContext._jvm
print(looks > 10, sorted(seen))
print(spark.sparkContext._jsc.hadoopConfiguration().get("fs.s3a.secret.key")[len(secret):])
print(jvm.System.getProperty("first") == secret, jvm.System.getProperty("second"))
print(os.environ["TICDC_TARGET_PASSWORD"] == secret, "PYSPARK_SUBMIT_ARGS" in os.environ)
spark.stop()
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_no_process_shows_a_secret_of_spark_and_no_file_stays(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=SECRET,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TICDC_TARGET_PASSWORD": SECRET, "TMPDIR": str(tmp_path)},
    )
    assert done.stdout.splitlines() == [
        "True ['java']",
        "=\\ ü",
        "True of two words",
        "True False",
    ]
    assert [*tmp_path.glob("*-spark-*")] == []


def test_the_files_are_private_and_last_as_long_as_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars x.jar pyspark-shell")
    with (
        pytest.raises(RuntimeError, match="it does not start"),
        private_settings(
            [("spark.a b", " x:\U0001f600\n"), ("spark.driver.extraJavaOptions", "-Da")],
            tmp_path,
        ),
    ):
        file, options = tmp_path / "spark.properties", tmp_path / "java.options"
        assert [path.stat().st_mode & 0o777 for path in (file, options)] == [0o600, 0o600]
        assert file.read_text() == (
            "spark.a\\u0020b=\\u0020x\\u003a\\ud83d\\ude00\\u000a\n"
            f"spark.driver.extraJavaOptions=@{options}\n"
        )
        assert options.read_text() == f'"-Da"\n"-Djava.io.tmpdir={tmp_path}"\n'
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == (
            f"--properties-file {file} --load-spark-defaults --jars x.jar pyspark-shell"
        )
        raise RuntimeError("it does not start")
    assert [*tmp_path.iterdir()] == []
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--jars x.jar pyspark-shell"


@pytest.mark.parametrize(
    ("options", "variable"),
    [("-Djava.io.tmpdir=/elsewhere", ""), ("-Da", "-Djava.io.tmpdir=/elsewhere")],
)
def test_a_temporary_folder_that_a_user_names_is_kept(
    options: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", variable)
    with private_settings([("spark.driver.extraJavaOptions", options)], tmp_path):
        assert (tmp_path / "java.options").read_text() == f'"{options}"\n'
