-- A blog: prefix keys that shrink for utf8mb4, zero dates in NOT NULL columns, one set of tables for each site,
-- settings that are texts, and an editor's plugin with tables of its own.
SET sql_mode = 'ALLOW_INVALID_DATES';
CREATE DATABASE app_blog DEFAULT CHARACTER SET utf8;
USE app_blog;
CREATE TABLE b_authors (
  id bigint(20) unsigned NOT NULL auto_increment,
  login varchar(60) NOT NULL default '',
  secret varchar(255) NOT NULL default '',
  shown_name varchar(250) NOT NULL default '',
  email varchar(100) NOT NULL default '',
  joined datetime NOT NULL default '0000-00-00 00:00:00',
  state int(11) NOT NULL default '0',
  PRIMARY KEY  (id),
  KEY login_at (login),
  KEY email_at (email)
) DEFAULT CHARACTER SET utf8;
CREATE TABLE b_author_facts (
  fact_id bigint(20) unsigned NOT NULL auto_increment,
  author_id bigint(20) unsigned NOT NULL default '0',
  fact varchar(255) default NULL,
  content longtext,
  PRIMARY KEY  (fact_id),
  KEY author_id (author_id),
  KEY fact (fact(250))
) DEFAULT CHARACTER SET utf8;
CREATE TABLE b_entries (
  id bigint(20) unsigned NOT NULL auto_increment,
  author bigint(20) unsigned NOT NULL default '0',
  written datetime NOT NULL default '0000-00-00 00:00:00',
  written_utc datetime NOT NULL default '0000-00-00 00:00:00',
  body longtext NOT NULL,
  headline text NOT NULL,
  teaser text NOT NULL,
  state varchar(20) NOT NULL default 'publish',
  talk varchar(20) NOT NULL default 'open',
  slug varchar(200) NOT NULL default '',
  changed datetime NOT NULL default '0000-00-00 00:00:00',
  parent bigint(20) unsigned NOT NULL default '0',
  place int(11) NOT NULL default '0',
  kind varchar(20) NOT NULL default 'post',
  talks bigint(20) NOT NULL default '0',
  PRIMARY KEY  (id),
  KEY slug (slug(191)),
  KEY kind_state_written (kind, state, written, id),
  KEY parent (parent)
) DEFAULT CHARACTER SET utf8;
CREATE TABLE b_talks (
  id bigint(20) unsigned NOT NULL auto_increment,
  entry bigint(20) unsigned NOT NULL default '0',
  who tinytext NOT NULL,
  email varchar(100) NOT NULL default '',
  address varchar(100) NOT NULL default '',
  said_at datetime NOT NULL default '0000-00-00 00:00:00',
  said text NOT NULL,
  karma int(11) NOT NULL default '0',
  approved varchar(20) NOT NULL default '1',
  PRIMARY KEY  (id),
  KEY entry (entry),
  KEY approved_said (approved, said_at),
  KEY email (email(10))
) DEFAULT CHARACTER SET utf8;
CREATE TABLE b_settings (
  id bigint(20) unsigned NOT NULL auto_increment,
  name varchar(64) NOT NULL default '',
  content longtext NOT NULL,
  early varchar(20) NOT NULL default 'yes',
  PRIMARY KEY  (id),
  UNIQUE KEY name (name)
) DEFAULT CHARACTER SET utf8;
CREATE TABLE b_words (
  id bigint(20) unsigned NOT NULL auto_increment,
  word varchar(200) NOT NULL default '',
  slug varchar(200) NOT NULL default '',
  family bigint(10) NOT NULL default 0,
  PRIMARY KEY  (id),
  UNIQUE KEY slug (slug)
) DEFAULT CHARACTER SET utf8;
CREATE TABLE b_words_of (
  object bigint(20) unsigned NOT NULL default 0,
  word bigint(20) unsigned NOT NULL default 0,
  place int(11) NOT NULL default 0,
  PRIMARY KEY  (object, word),
  KEY word (word)
) DEFAULT CHARACTER SET utf8;
INSERT INTO b_authors (login, secret, shown_name, email, joined) VALUES
  ('ada', '$P$Babc', 'Ada', 'ada@example.org', '2019-01-02 03:04:05'), ('bob', '', 'Bob \\ ''B''', '', '0000-00-00 00:00:00');
INSERT INTO b_author_facts (author_id, fact, content) VALUES (1, 'caps', 'a:1:{s:5:"admin";b:1;}'), (2, NULL, NULL);
INSERT INTO b_entries (author, written, written_utc, changed, body, headline, teaser, slug) VALUES
  (1, '2019-01-02 03:04:05', '2019-01-02 02:04:05', '2019-01-02 03:04:06', 'Hello, wörld.\r\n\tA tab; a backslash \\ too', 'Hello', '', 'hello'),
  (2, '0000-00-00 00:00:00', '2019-01-02 02:04:05', '2019-01-02 03:04:05', '', 'A draft', '', 'a-draft');
INSERT INTO b_talks (entry, who, said_at, said) VALUES (1, 'A guest', '2019-01-03 00:00:00', 'First!'), (1, 'ada', '0000-00-00 00:00:00', '');
INSERT INTO b_settings (name, content) VALUES ('home', 'https://example.org/'), ('path', 'C:\\www\\new'), ('offset', '');
INSERT INTO b_words (word, slug) VALUES ('News', 'news'), ('Über', 'ueber');
INSERT INTO b_words_of VALUES (1, 1, 0), (1, 2, 1);
-- look
ALTER TABLE b_authors ADD COLUMN url varchar(100) NOT NULL default '' AFTER email;
ALTER TABLE b_authors ADD COLUMN reset_key varchar(60) NOT NULL DEFAULT '' AFTER joined, MODIFY login varchar(60) NOT NULL DEFAULT '';
ALTER TABLE b_authors CHANGE COLUMN reset_key reset_key varchar(255) NOT NULL DEFAULT '';
ALTER TABLE b_authors ADD COLUMN nicename varchar(50) NOT NULL DEFAULT '';
CREATE INDEX nicename ON b_authors (nicename);
UPDATE b_authors SET nicename = login;
ALTER TABLE b_entries ADD COLUMN guid varchar(255) NOT NULL DEFAULT '' AFTER parent;
ALTER TABLE b_entries ADD COLUMN mime varchar(100) NOT NULL DEFAULT '' AFTER kind, ADD COLUMN password varchar(20) NOT NULL DEFAULT '';
ALTER TABLE b_entries MODIFY COLUMN password varchar(255) NOT NULL DEFAULT '';
ALTER TABLE b_entries ADD COLUMN changed_utc datetime NOT NULL DEFAULT '0000-00-00 00:00:00' AFTER changed;
ALTER TABLE b_entries ADD COLUMN pinged text NOT NULL, ADD COLUMN filtered longtext NOT NULL;
INSERT INTO b_entries (author, written, written_utc, changed, changed_utc, body, headline, teaser, slug, pinged, filtered) VALUES (1, '2019-02-02 02:04:05', '2019-02-02 02:04:05', '2019-02-02 02:04:05', '2019-02-02 02:04:05', 'Second', '', '', 'second', '', '');
ALTER TABLE b_talks ADD COLUMN agent varchar(255) NOT NULL default '' AFTER approved;
ALTER TABLE b_talks ADD COLUMN kind varchar(20) NOT NULL default '' AFTER agent;
UPDATE b_talks SET kind = 'comment' WHERE kind = '';
ALTER TABLE b_talks MODIFY COLUMN kind varchar(20) NOT NULL default 'comment';
ALTER TABLE b_talks ADD COLUMN parent bigint(20) unsigned NOT NULL default 0, ADD COLUMN author bigint(20) unsigned NOT NULL default 0;
ALTER TABLE b_settings MODIFY name varchar(191) NOT NULL default '';
ALTER TABLE b_settings ADD INDEX early (early);
ALTER TABLE b_settings MODIFY early varchar(20) NOT NULL default 'on';
DELETE FROM b_settings WHERE name = 'offset';
-- look
ALTER TABLE b_words DROP INDEX slug;
ALTER TABLE b_words ADD KEY slug (slug(191));
ALTER TABLE b_words ADD KEY word (word(191));
CREATE TABLE b_families (
  id bigint(20) unsigned NOT NULL auto_increment,
  word bigint(20) unsigned NOT NULL default 0,
  family varchar(32) NOT NULL default '',
  description longtext NOT NULL,
  parent bigint(20) unsigned NOT NULL default 0,
  uses bigint(20) NOT NULL default 0,
  PRIMARY KEY (id),
  UNIQUE KEY word_family (word, family),
  KEY family (family)
);
INSERT INTO b_families (word, family, description, uses) SELECT id, 'category', '', 1 FROM b_words;
ALTER TABLE b_words DROP COLUMN family;
ALTER TABLE b_words ADD COLUMN grp bigint(10) NOT NULL DEFAULT 0;
ALTER TABLE b_words_of CHANGE COLUMN word family bigint(20) unsigned NOT NULL default 0, RENAME INDEX word TO family;
INSERT INTO b_words_of VALUES (2, 1, 0);
-- Four bytes a character: what was utf8 is converted, table by table.
ALTER DATABASE app_blog CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
ALTER TABLE b_author_facts DROP INDEX fact;
ALTER TABLE b_author_facts CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
ALTER TABLE b_author_facts ADD INDEX fact (fact(191));
ALTER TABLE b_entries CONVERT TO CHARACTER SET utf8mb4;
ALTER TABLE b_words CONVERT TO CHARACTER SET utf8mb4;
UPDATE b_entries SET headline = 'Hello 😀' WHERE id = 1;
CREATE TABLE b_entry_facts (
  fact_id bigint unsigned NOT NULL auto_increment PRIMARY KEY,
  entry bigint unsigned NOT NULL DEFAULT 0,
  fact varchar(255) DEFAULT NULL,
  content longtext,
  KEY entry (entry),
  KEY fact (fact(191))
);
INSERT INTO b_entry_facts (entry, fact, content) VALUES (1, '_edit', '1:2'), (1, '_edit', '😀'), (3, NULL, '');
-- look
-- A second site.
CREATE TABLE b_2_entries LIKE b_entries;
INSERT INTO b_2_entries SELECT * FROM b_entries WHERE id > 2;
CREATE TABLE b_sites (
  id bigint(20) NOT NULL auto_increment,
  host varchar(200) NOT NULL default '',
  path varchar(100) NOT NULL default '',
  begun datetime NOT NULL default CURRENT_TIMESTAMP,
  seen timestamp NOT NULL default CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  is_public tinyint(2) NOT NULL default '1',
  level enum('free','paid') NOT NULL default 'free',
  marks set('spam','mature') NOT NULL default '',
  PRIMARY KEY (id),
  KEY host_path (host(50), path(5))
);
INSERT INTO b_sites (id, host, path, begun, seen, marks) VALUES (1, 'example.org', '/', '2020-01-01 00:00:00', '2020-02-03 04:05:06', 'mature'), (2, 'two.example.org', '/x', '2021-01-01 00:00:00', '2021-02-03 04:05:06', '');
ALTER TABLE b_sites MODIFY level enum('free','paid','team') NOT NULL default 'free', MODIFY marks set('spam','mature','gone') NOT NULL default '';
UPDATE b_sites SET level = 'team', marks = 'spam,gone' WHERE id = 2;
ALTER TABLE b_sites MODIFY level enum('none','free','paid','team') DEFAULT NULL;
ALTER TABLE b_sites ADD COLUMN locale varchar(10) NOT NULL DEFAULT 'en\\US', ADD COLUMN month varchar(7) DEFAULT (date_format(now(), '%Y-%m'));
UPDATE b_sites SET month = '2020-02';
INSERT INTO b_sites (id, host, level, begun, seen, month) VALUES (3, 'three', NULL, '2022-01-01 00:00:00', '2022-01-01 00:00:00', NULL);
RENAME TABLE b_entries TO b_1_entries, b_2_entries TO b_entries;
INSERT INTO b_entries (author, written, written_utc, changed, changed_utc, body, headline, teaser, slug, pinged, filtered) VALUES (2, '2020-02-02 02:04:05', '2020-02-02 02:04:05', '2020-02-02 02:04:05', '2020-02-02 02:04:05', 'On two', '', '', 'on-two', '', '');
RENAME TABLE b_entries TO b_2_entries, b_1_entries TO b_entries;
-- look
CREATE VIEW b_published AS SELECT e.id, e.headline, a.shown_name FROM b_entries e JOIN b_authors a ON a.id = e.author WHERE e.state = 'publish';
CREATE VIEW b_counts AS SELECT entry, COUNT(*) AS n FROM b_talks GROUP BY entry;
CREATE TABLE b_editor_blocks (
  entry bigint unsigned NOT NULL,
  place int NOT NULL,
  kind varchar(40) NOT NULL DEFAULT 'core/paragraph',
  attributes json,
  width decimal(6,2) NOT NULL DEFAULT 100.00,
  length int AS (json_length(attributes)) STORED,
  PRIMARY KEY (entry, place),
  CONSTRAINT positive CHECK (place >= 0)
);
INSERT INTO b_editor_blocks (entry, place, attributes) VALUES (1, 0, '{"a": [1, 2], "b": null}'), (1, 1, NULL);
ALTER TABLE b_editor_blocks MODIFY COLUMN width decimal(8,3) NOT NULL DEFAULT 100.000;
ALTER TABLE b_editor_blocks ADD COLUMN half decimal(9,3) AS (width - 50) VIRTUAL;
ALTER TABLE b_editor_blocks ALTER COLUMN kind SET DEFAULT 'core/\\x';
UPDATE b_editor_blocks SET width = 33.333 WHERE place = 1;
TRUNCATE TABLE b_author_facts;
DROP VIEW b_counts;
DROP TABLE b_entry_facts, b_2_entries;
ALTER TABLE b_talks DROP INDEX email, DROP COLUMN address;
DELETE FROM b_talks WHERE id = 2;
-- look
