# The consumer in an image that Spark's operator starts as driver and as executor. Build it on the other one:
#
#   docker build -f deploy/docker/spark.Dockerfile -t ticdc-consumer-spark .
ARG SPARK=apache/spark:4.3.0
ARG CONSUMER=ticdc-consumer:latest
# hadolint ignore=DL3006
FROM ${SPARK} AS spark
# hadolint ignore=DL3006
FROM ${CONSUMER}
# hadolint ignore=DL3002
USER 0
COPY --from=spark /opt/spark /opt/spark
COPY --from=spark /opt/entrypoint.sh /opt/entrypoint.sh
COPY samples/spark_submit/job.py /opt/ticdc-consumer/job.py
ENV SPARK_HOME=/opt/spark \
    PYSPARK_PYTHON=/opt/ticdc-consumer/bin/python \
    PYSPARK_DRIVER_PYTHON=/opt/ticdc-consumer/bin/python
USER 10001:10001
WORKDIR /opt/spark/work-dir
HEALTHCHECK NONE
ENTRYPOINT ["/opt/entrypoint.sh"]
CMD []
