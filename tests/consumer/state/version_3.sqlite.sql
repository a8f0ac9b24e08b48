CREATE TABLE ticdc_activity (
    changefeed VARCHAR(128) NOT NULL,
    generation BIGINT NOT NULL,
    written_at BIGINT NOT NULL,
    activity TEXT NOT NULL,
    PRIMARY KEY (changefeed)
);
UPDATE ticdc_state SET version = 3, migrating_to = 3, least_release = '0.1.0';
