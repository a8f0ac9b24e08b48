CREATE TABLE ticdc_repair (
    changefeed VARCHAR(128) NOT NULL,
    number BIGINT NOT NULL,
    state VARCHAR(16) NOT NULL,
    found_ts TEXT NOT NULL,
    resolved_ts TEXT NOT NULL,
    row_count BIGINT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (changefeed, number)
);
UPDATE ticdc_state SET version = 5, migrating_to = 5, least_release = '0.1.0';
