ALTER TABLE ticdc_table ADD COLUMN target_schema VARCHAR(128);
ALTER TABLE ticdc_table ADD COLUMN target_table VARCHAR(128);
UPDATE ticdc_table SET basis = 'applied' WHERE basis = 'made';
UPDATE ticdc_table SET basis = 'declared' WHERE basis = 'told';
UPDATE ticdc_table SET basis = 'reflected' WHERE basis = 'found';
UPDATE ticdc_dropped SET basis = 'applied' WHERE basis = 'made';
UPDATE ticdc_dropped SET basis = 'declared' WHERE basis = 'told';
UPDATE ticdc_dropped SET basis = 'reflected' WHERE basis = 'found';
UPDATE ticdc_state SET version = 2, migrating_to = 2, least_release = '0.1.0';
