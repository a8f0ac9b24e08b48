CREATE TABLE ticdc_quarantine (
    changefeed VARCHAR(128) NOT NULL,
    schema VARCHAR(128) NOT NULL,
    "table" VARCHAR(128) NOT NULL,
    resolved_ts TEXT NOT NULL,
    mark_time BIGINT NOT NULL,
    positions TEXT NOT NULL,
    since BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    cause TEXT NOT NULL,
    PRIMARY KEY (changefeed, schema, "table")
);
UPDATE ticdc_state SET version = 6, migrating_to = 6, least_release = '0.1.0';
