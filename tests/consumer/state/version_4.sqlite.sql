CREATE TABLE ticdc_load (
    changefeed VARCHAR(128) NOT NULL,
    schema VARCHAR(128) NOT NULL,
    "table" VARCHAR(128) NOT NULL,
    chunk INTEGER NOT NULL,
    snapshot_ts TEXT NOT NULL,
    state VARCHAR(16) NOT NULL,
    row_count BIGINT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (changefeed, schema, "table", chunk)
);
UPDATE ticdc_state SET version = 4, migrating_to = 4, least_release = '0.1.0';
