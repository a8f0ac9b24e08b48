CREATE TABLE ticdc_repair (
    changefeed VARCHAR(128) NOT NULL,
    number BIGINT NOT NULL,
    state VARCHAR(16) NOT NULL,
    found_ts BIGINT UNSIGNED NOT NULL,
    resolved_ts BIGINT UNSIGNED NOT NULL,
    row_count BIGINT NOT NULL,
    reason LONGTEXT NOT NULL,
    detail LONGTEXT NOT NULL,
    PRIMARY KEY (changefeed, number)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
UPDATE ticdc_state SET version = 5, migrating_to = 5, least_release = '0.1.0';
