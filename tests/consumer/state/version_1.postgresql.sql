CREATE TABLE ticdc_state (
    id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    migrating_to INTEGER NOT NULL,
    least_release VARCHAR(32) NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO ticdc_state (id, version, migrating_to, least_release) VALUES (1, 1, 1, '0.1.0');
INSERT INTO ticdc_table (changefeed, schema, "table", definition, basis) SELECT changefeed, schema, 'told', definition, 'told' FROM ticdc_table WHERE "table" = 't';
INSERT INTO ticdc_table (changefeed, schema, "table", definition, basis) SELECT changefeed, schema, 'checked', definition, 'checked' FROM ticdc_table WHERE "table" = 't';
INSERT INTO ticdc_table (changefeed, schema, "table", definition, basis) SELECT changefeed, schema, 'seen', definition, 'seen' FROM ticdc_table WHERE "table" = 't';
INSERT INTO ticdc_table (changefeed, schema, "table", definition, basis) SELECT changefeed, schema, 'found', definition, 'found' FROM ticdc_table WHERE "table" = 't';
