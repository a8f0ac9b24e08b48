CREATE TABLE ticdc_load (
    changefeed VARCHAR(128) NOT NULL,
    `schema` VARCHAR(128) NOT NULL,
    `table` VARCHAR(128) NOT NULL,
    chunk INTEGER NOT NULL,
    snapshot_ts BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) NOT NULL,
    row_count BIGINT NOT NULL,
    detail LONGTEXT NOT NULL,
    PRIMARY KEY (changefeed, `schema`, `table`, chunk)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
UPDATE ticdc_state SET version = 4, migrating_to = 4, least_release = '0.1.0';
