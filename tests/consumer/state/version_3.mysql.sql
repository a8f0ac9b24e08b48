CREATE TABLE ticdc_activity (
    changefeed VARCHAR(128) NOT NULL,
    generation BIGINT NOT NULL,
    written_at BIGINT NOT NULL,
    activity LONGTEXT NOT NULL,
    PRIMARY KEY (changefeed)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
UPDATE ticdc_state SET version = 3, migrating_to = 3, least_release = '0.1.0';
