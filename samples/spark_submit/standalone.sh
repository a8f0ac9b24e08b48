#!/usr/bin/env bash
# A Spark standalone cluster of one master and two workers on this machine, for one run of job.py:
#
#   samples/spark_submit/standalone.sh run CONFIG --until caught-up
#
# PyPI's pyspark has no sbin/start-master.sh: spark-class starts the daemons. PYTHON is the one that has
# ticdc-consumer installed. Afterwards it says what each of the executors has run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(type -P "${PYTHON:-python}")
SPARK_HOME=$("$python" -c 'import pyspark; print(pyspark.__path__[0])')
JAVA_HOME=$("$python" -c 'from ticdc_consumer.cut.spark.java import java_home; print(java_home())')
export SPARK_HOME JAVA_HOME PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python
port=$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
master=spark://127.0.0.1:$port
logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$logs"' EXIT

daemon() { # daemon NAME CLASS ARGUMENT...
    local name=$1; shift
    "$SPARK_HOME/bin/spark-class" "org.apache.spark.deploy.$@" --host 127.0.0.1 --webui-port 0 >"$logs/$name.log" 2>&1 &
}
daemon master master.Master --port "$port"
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 $! || { cat "$logs/master.log" >&2; exit 1; }
    sleep 0.1
done
for worker in worker1 worker2; do
    daemon $worker worker.Worker --cores 1 --memory 1g --work-dir "$logs/$worker" "$master"
done

"$SPARK_HOME/bin/spark-submit" --master "$master" --executor-memory 512m \
    --conf spark.driver.host=127.0.0.1 "$here/job.py" "$@"
for worker in worker1 worker2; do
    echo "$worker: $(cat "$logs/$worker"/*/*/stderr | grep -c 'Running task') tasks"
done
