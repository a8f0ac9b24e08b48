CREATE TABLE ticdc_quarantine (
    changefeed VARCHAR(128) NOT NULL,
    `schema` VARCHAR(128) NOT NULL,
    `table` VARCHAR(128) NOT NULL,
    resolved_ts BIGINT UNSIGNED NOT NULL,
    mark_time BIGINT NOT NULL,
    positions LONGTEXT NOT NULL,
    since BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    cause LONGTEXT NOT NULL,
    PRIMARY KEY (changefeed, `schema`, `table`)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
UPDATE ticdc_state SET version = 6, migrating_to = 6, least_release = '0.1.0';
