CREATE TABLE ticdc_checkpoint (
    changefeed VARCHAR(128) NOT NULL,
    generation BIGINT NOT NULL,
    resolved_ts BIGINT UNSIGNED NOT NULL,
    mark_time BIGINT NOT NULL,
    owner VARCHAR(128) NOT NULL,
    scope VARCHAR(64) NOT NULL,
    scope_text LONGTEXT NOT NULL,
    counters LONGTEXT NOT NULL,
    PRIMARY KEY (changefeed)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE ticdc_ddl (
    changefeed VARCHAR(128) NOT NULL,
    commit_ts BIGINT UNSIGNED NOT NULL,
    seq INTEGER NOT NULL,
    `schema` VARCHAR(128) NOT NULL,
    `table` VARCHAR(128) NOT NULL,
    query LONGTEXT NOT NULL,
    kind INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    reason LONGTEXT NOT NULL,
    instead LONGTEXT NOT NULL,
    PRIMARY KEY (changefeed, commit_ts, seq)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE ticdc_dropped (
    changefeed VARCHAR(128) NOT NULL,
    commit_ts BIGINT UNSIGNED NOT NULL,
    seq INTEGER NOT NULL,
    `schema` VARCHAR(128) NOT NULL,
    `table` VARCHAR(128) NOT NULL,
    target_schema VARCHAR(128),
    target_table VARCHAR(128) NOT NULL,
    definition LONGTEXT,
    basis VARCHAR(16) NOT NULL,
    PRIMARY KEY (changefeed, commit_ts, seq)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE ticdc_offset (
    changefeed VARCHAR(128) NOT NULL,
    topic VARCHAR(249) NOT NULL,
    `partition` INTEGER NOT NULL,
    topic_id VARCHAR(64) NOT NULL,
    restart_offset BIGINT NOT NULL,
    mark_offset BIGINT,
    mark_crc BIGINT,
    PRIMARY KEY (changefeed, topic, `partition`)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE ticdc_schema (
    changefeed VARCHAR(128) NOT NULL,
    `schema` VARCHAR(128) NOT NULL,
    `table` VARCHAR(128) NOT NULL,
    version BIGINT UNSIGNED NOT NULL,
    definition LONGTEXT NOT NULL,
    PRIMARY KEY (changefeed, `schema`, `table`, version)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE ticdc_table (
    changefeed VARCHAR(128) NOT NULL,
    `schema` VARCHAR(128) NOT NULL,
    `table` VARCHAR(128) NOT NULL,
    definition LONGTEXT NOT NULL,
    basis VARCHAR(16) NOT NULL,
    PRIMARY KEY (changefeed, `schema`, `table`)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO ticdc_checkpoint (changefeed, generation, resolved_ts, mark_time, owner, scope, scope_text, counters) VALUES ('Feed', 1, 100, 0, '17', '3f38488b2cb13e6206628be1fecac902fad81bf67a949179b57082fb6acd80ff', '{"case_sensitive":false,"filter":["*.*"],"protocol":"simple","route":[],"time_zone":"UTC","topics":["shop"]}', '{}');
INSERT INTO ticdc_checkpoint (changefeed, generation, resolved_ts, mark_time, owner, scope, scope_text, counters) VALUES ('shop-feed', 1, 18446744073709551614, 1760000000000, '17', '3f38488b2cb13e6206628be1fecac902fad81bf67a949179b57082fb6acd80ff', '{"case_sensitive":false,"filter":["*.*"],"protocol":"simple","route":[],"time_zone":"UTC","topics":["shop"]}', '{"cuts": 1, "rows": 1099511627776}');
INSERT INTO ticdc_ddl (changefeed, commit_ts, seq, `schema`, `table`, query, kind, state, reason, instead) VALUES ('shop-feed', 429918007904436226, 1, 'shop', 't', 'ALTER TABLE `t` ADD c INT', 5, 'pending', '', '');
INSERT INTO ticdc_ddl (changefeed, commit_ts, seq, `schema`, `table`, query, kind, state, reason, instead) VALUES ('shop-feed', 429918007904436226, 2, 'shop', 'v', 'CREATE VIEW v AS SELECT ''ü''', 1, 'skipped', 'not of this target', '');
INSERT INTO ticdc_dropped (changefeed, commit_ts, seq, `schema`, `table`, target_schema, target_table, definition, basis) VALUES ('shop-feed', 429918007904436225, 1, 'shop', 'old', NULL, 'ticdc_dropped_1_old', NULL, 'made');
INSERT INTO ticdc_offset (changefeed, topic, `partition`, topic_id, restart_offset, mark_offset, mark_crc) VALUES ('shop-feed', 'shop', 0, 'dGhlIGlk', 10, 9, 4294967295);
INSERT INTO ticdc_offset (changefeed, topic, `partition`, topic_id, restart_offset, mark_offset, mark_crc) VALUES ('shop-feed', 'shop', 1, 'dGhlIGlk', 4611686018427387904, NULL, NULL);
INSERT INTO ticdc_schema (changefeed, `schema`, `table`, version, definition) VALUES ('shop-feed', 'shop', 't', 18446744073709551615, '{"schema": "shop", "name": "t", "columns": [{"name": "a", "type": {"name": "int", "unsigned": false, "zerofill": false, "length": 11, "decimals": null, "elements": [], "charset": null, "collation": null}, "nullable": false, "default": null, "generated": null, "expression": null, "comment": null, "auto_increment": false, "on_update": false}, {"name": "b", "type": {"name": "varchar", "unsigned": false, "zerofill": false, "length": 5, "decimals": null, "elements": [], "charset": "utf8mb4", "collation": "utf8mb4_bin"}, "nullable": true, "default": "it''s", "generated": null, "expression": null, "comment": null, "auto_increment": false, "on_update": false}], "indexes": [{"name": "PRIMARY", "columns": ["a"], "unique": true, "primary": true, "lengths": [null], "expression": false, "clustered": true, "partial": false}], "handle_key": ["a"], "partitioned": false, "table_id": 5, "version": 18446744073709551615, "charset": null, "collation": null, "foreign_keys": [], "partitioning": null}');
INSERT INTO ticdc_table (changefeed, `schema`, `table`, definition, basis) VALUES ('shop-feed', 'shop', 't', '{"schema": "shop", "name": "t", "columns": [{"name": "a", "type": {"name": "int", "unsigned": false, "zerofill": false, "length": 11, "decimals": null, "elements": [], "charset": null, "collation": null}, "nullable": false, "default": null, "generated": null, "expression": null, "comment": null, "auto_increment": false, "on_update": false}, {"name": "b", "type": {"name": "varchar", "unsigned": false, "zerofill": false, "length": 5, "decimals": null, "elements": [], "charset": "utf8mb4", "collation": "utf8mb4_bin"}, "nullable": true, "default": "it''s", "generated": null, "expression": null, "comment": null, "auto_increment": false, "on_update": false}], "indexes": [{"name": "PRIMARY", "columns": ["a"], "unique": true, "primary": true, "lengths": [null], "expression": false, "clustered": true, "partial": false}], "handle_key": ["a"], "partitioned": false, "table_id": 5, "version": 0, "charset": null, "collation": null, "foreign_keys": [], "partitioning": null}', 'made');
