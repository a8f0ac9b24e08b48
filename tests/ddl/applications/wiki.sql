-- A wiki: names and texts as bytes, times as texts of 14 digits, keys of several columns that change, columns of numbers that grow,
-- latin1 from old days, many small tables, views for a public copy.
CREATE DATABASE app_wiki DEFAULT CHARACTER SET latin1;
CREATE DATABASE app_wiki_cache DEFAULT CHARACTER SET binary;
USE app_wiki;
CREATE TABLE page (
  page_id INT UNSIGNED AUTO_INCREMENT NOT NULL,
  page_namespace INT NOT NULL,
  page_title VARBINARY(255) NOT NULL,
  page_restrictions TINYBLOB NOT NULL,
  page_is_redirect TINYINT UNSIGNED DEFAULT 0 NOT NULL,
  page_random DOUBLE PRECISION NOT NULL,
  page_touched BINARY(14) NOT NULL DEFAULT '\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
  page_latest INT UNSIGNED NOT NULL,
  page_len INT UNSIGNED NOT NULL,
  UNIQUE INDEX name_title (page_namespace, page_title),
  INDEX page_random (page_random),
  PRIMARY KEY (page_id)
);
CREATE TABLE revision (
  rev_id INT UNSIGNED AUTO_INCREMENT NOT NULL PRIMARY KEY,
  rev_page INT UNSIGNED NOT NULL,
  rev_text_id INT UNSIGNED NOT NULL,
  rev_comment TINYBLOB NOT NULL,
  rev_user INT UNSIGNED NOT NULL DEFAULT 0,
  rev_user_text VARCHAR(255) BINARY NOT NULL DEFAULT '',
  rev_timestamp BINARY(14) NOT NULL DEFAULT '',
  rev_minor_edit TINYINT UNSIGNED NOT NULL DEFAULT 0,
  rev_deleted TINYINT UNSIGNED NOT NULL DEFAULT 0,
  UNIQUE INDEX rev_page_id (rev_page, rev_id),
  INDEX page_timestamp (rev_page, rev_timestamp),
  INDEX usertext_timestamp (rev_user_text, rev_timestamp)
) MAX_ROWS=10000000 AVG_ROW_LENGTH=1024;
CREATE TABLE text (old_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, old_text MEDIUMBLOB NOT NULL, old_flags TINYBLOB NOT NULL);
CREATE TABLE categorylinks (
  cl_from INT UNSIGNED NOT NULL DEFAULT 0,
  cl_to VARCHAR(255) BINARY NOT NULL DEFAULT '',
  cl_sortkey VARCHAR(70) BINARY NOT NULL DEFAULT '',
  cl_timestamp TIMESTAMP NOT NULL,
  UNIQUE INDEX cl_from (cl_from, cl_to),
  INDEX cl_sortkey (cl_to, cl_sortkey, cl_from)
);
CREATE TABLE site_stats (ss_row_id INT UNSIGNED NOT NULL, ss_edits BIGINT UNSIGNED DEFAULT 0, UNIQUE INDEX ss_row_id (ss_row_id));
INSERT INTO page VALUES (1, 0, 'Main_Page', '', 0, 0.123456789012, '20200102030405', 2, 42), (2, 1, x'c39c626572', 'edit=sysop', 1, 1e-10, '20200102030406', 3, 0);
INSERT INTO revision VALUES (1, 1, 1, 'first', 0, '127.0.0.1', '20200102030405', 0, 0), (2, 1, 2, x'fffe00', 1, 'WikiSysop', '20200102030406', 1, 0), (3, 2, 3, '', 1, 'Zoé', '', 0, 1);
INSERT INTO text VALUES (1, 'Hello \\ world\n', 'utf-8'), (2, x'4bce2f09', 'utf-8,gzip'), (3, '', '');
INSERT INTO categorylinks VALUES (1, 'Pages', 'MAIN PAGE', '2020-01-02 03:04:05'), (2, 'Pages', '', '2020-01-02 03:04:06');
INSERT INTO site_stats VALUES (1, 18446744073709551615);
-- look
ALTER TABLE page ADD COLUMN page_content_model VARBINARY(32) DEFAULT NULL, ADD COLUMN page_lang VARBINARY(35) DEFAULT NULL;
ALTER TABLE page ADD COLUMN page_links_updated VARBINARY(14) NULL DEFAULT NULL AFTER page_touched;
ALTER TABLE page DROP COLUMN page_restrictions;
UPDATE page SET page_content_model = 'wikitext', page_len = 43 WHERE page_id = 1;
ALTER TABLE revision ADD COLUMN rev_len INT UNSIGNED NULL, ADD COLUMN rev_parent_id INT UNSIGNED DEFAULT NULL, ADD COLUMN rev_sha1 VARBINARY(32) NOT NULL DEFAULT '';
ALTER TABLE revision MODIFY rev_comment VARBINARY(767) NOT NULL DEFAULT '';
UPDATE revision SET rev_len = 10, rev_sha1 = 'phoiac9h4m842xq45sp7s6u21eteeq1' WHERE rev_id < 3;
ALTER TABLE revision MODIFY rev_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT;
ALTER TABLE revision DROP INDEX usertext_timestamp;
ALTER TABLE revision MODIFY rev_user_text VARCHAR(300) BINARY NOT NULL DEFAULT '';
INSERT INTO revision (rev_page, rev_text_id, rev_comment, rev_user_text, rev_timestamp) VALUES (2, 4, 'a\\b', x'c3a9', '20210102030405');
ALTER TABLE revision ADD INDEX rev_actor_timestamp (rev_user, rev_timestamp, rev_id), DROP INDEX page_timestamp, ADD INDEX rev_page_timestamp (rev_page, rev_timestamp);
ALTER TABLE text MODIFY old_flags VARBINARY(255) NOT NULL DEFAULT '', MODIFY old_text LONGBLOB NOT NULL;
ALTER TABLE site_stats ADD COLUMN ss_good_articles BIGINT UNSIGNED DEFAULT NULL, ADD COLUMN ss_images INT DEFAULT 0;
ALTER TABLE site_stats DROP INDEX ss_row_id, ADD PRIMARY KEY (ss_row_id);
UPDATE site_stats SET ss_edits = 5, ss_images = -1;
-- look
ALTER TABLE categorylinks ADD COLUMN cl_sortkey_prefix VARCHAR(255) BINARY NOT NULL DEFAULT '', ADD COLUMN cl_collation VARBINARY(32) NOT NULL DEFAULT '';
ALTER TABLE categorylinks DROP INDEX cl_sortkey;
ALTER TABLE categorylinks MODIFY cl_sortkey VARCHAR(230) BINARY NOT NULL DEFAULT '';
ALTER TABLE categorylinks ADD COLUMN cl_type ENUM('page','subcat') NOT NULL DEFAULT 'page';
ALTER TABLE categorylinks MODIFY cl_type ENUM('page','subcat','file') NOT NULL DEFAULT 'page';
UPDATE categorylinks SET cl_type = 'file' WHERE cl_from = 2;
ALTER TABLE categorylinks ADD INDEX cl_sortkey (cl_to, cl_type, cl_sortkey, cl_from);
ALTER TABLE categorylinks DROP INDEX cl_from, ADD PRIMARY KEY (cl_from, cl_to);
INSERT INTO categorylinks (cl_from, cl_to, cl_timestamp) VALUES (3, 'Ünsorted', '2021-01-02 03:04:06');
CREATE TABLE user (
  user_id INT UNSIGNED NOT NULL PRIMARY KEY AUTO_INCREMENT,
  user_name VARCHAR(255) BINARY NOT NULL DEFAULT '',
  user_real_name VARCHAR(255) NOT NULL DEFAULT '',
  user_password TINYBLOB NOT NULL,
  user_options BLOB NOT NULL,
  user_touched CHAR(14) BINARY NOT NULL DEFAULT '',
  user_registration BINARY(14),
  UNIQUE INDEX user_name (user_name)
);
INSERT INTO user VALUES (1, 'WikiSysop', 'Ann', ':B:12', 'skin=\\x', '20200102030405', NULL), (2, 'Zoé', '', '', '', '', '20200102030406');
ALTER TABLE user ADD COLUMN user_email TINYTEXT NOT NULL, ADD COLUMN user_editcount INT NULL;
ALTER TABLE user ADD INDEX user_email (user_email(50));
ALTER TABLE user DROP COLUMN user_options, MODIFY user_name VARCHAR(300) BINARY NOT NULL DEFAULT '';
ALTER TABLE user ADD COLUMN user_is_temp TINYINT(1) DEFAULT 0 NOT NULL, ADD COLUMN user_group VARCHAR(255) DEFAULT 'user' NOT NULL;
UPDATE user SET user_email = 'zoe@example.org', user_editcount = 12 WHERE user_id = 2;
DELETE FROM user WHERE user_id = 1;
-- look
-- Tables without a key, which get one.
CREATE TABLE interwiki (iw_prefix VARCHAR(32) NOT NULL, iw_url BLOB NOT NULL, iw_local BOOL NOT NULL, iw_trans TINYINT NOT NULL DEFAULT 0, UNIQUE INDEX iw_prefix (iw_prefix));
INSERT INTO interwiki VALUES ('wikipedia', 'https://example.org/$1', 0, 0), ('me', '', 1, 1);
ALTER TABLE interwiki DROP INDEX iw_prefix, ADD PRIMARY KEY (iw_prefix);
ALTER TABLE interwiki MODIFY iw_prefix VARCHAR(64) NOT NULL;
CREATE TABLE logging (
  log_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, log_type VARBINARY(32) NOT NULL DEFAULT '', log_timestamp BINARY(14) NOT NULL DEFAULT '19700101000000',
  log_title VARCHAR(767) NOT NULL DEFAULT '', log_params BLOB NOT NULL, UNIQUE INDEX log_title (log_title)
);
INSERT INTO logging VALUES (1, 'delete', '20200102030405', REPEAT('t', 767), 'a:0:{}'), (2, '', '20200102030406', 'x', '');
ALTER TABLE logging ADD COLUMN log_deleted TINYINT UNSIGNED NOT NULL DEFAULT 0, ADD COLUMN log_page INT UNSIGNED NULL, MODIFY log_type VARBINARY(64) NOT NULL DEFAULT 'none';
INSERT INTO logging (log_title, log_params) VALUES ('y', x'00');
CREATE TABLE app_wiki_cache.objectcache (keyname VARBINARY(255) NOT NULL DEFAULT '', value MEDIUMBLOB, exptime BINARY(14) NOT NULL, PRIMARY KEY (keyname));
INSERT INTO app_wiki_cache.objectcache VALUES ('wiki:pcache:1', x'0001ff', '99991231235959'), ('k', NULL, '');
ALTER TABLE app_wiki_cache.objectcache ADD COLUMN modtoken VARCHAR(17) NOT NULL DEFAULT '00000000000000000', ADD COLUMN flags INT UNSIGNED DEFAULT NULL;
CREATE TABLE app_wiki_cache.l10n (lc_lang VARCHAR(35) NOT NULL, lc_key VARCHAR(255) NOT NULL, lc_value MEDIUMTEXT NOT NULL, PRIMARY KEY (lc_lang, lc_key));
INSERT INTO app_wiki_cache.l10n VALUES ('en', 'messages:about', 's:5:"About";'), ('ü', x'fe', x'00');
-- look
-- One table for all comments, one for all actors, and columns that point there.
CREATE TABLE comment (comment_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, comment_hash INT NOT NULL, comment_text BLOB NOT NULL, comment_data BLOB, INDEX comment_hash (comment_hash));
INSERT INTO comment VALUES (1, -5, 'first', NULL), (2, 7, x'fffe00', '{}');
CREATE TABLE actor (actor_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, actor_user INT UNSIGNED, actor_name VARBINARY(255) NOT NULL, UNIQUE KEY actor_user (actor_user), UNIQUE KEY actor_name (actor_name));
INSERT INTO actor VALUES (1, 2, x'5a6f61'), (2, NULL, '127.0.0.1'), (3, NULL, '127.0.0.2');
ALTER TABLE revision ADD COLUMN rev_comment_id BIGINT UNSIGNED NOT NULL DEFAULT 0, ADD COLUMN rev_actor BIGINT UNSIGNED NOT NULL DEFAULT 0 AFTER rev_user_text;
UPDATE revision SET rev_comment_id = 1, rev_actor = 2 WHERE rev_page = 1;
DROP INDEX rev_actor_timestamp ON revision;
ALTER TABLE revision ADD INDEX rev_actor_timestamp (rev_actor, rev_timestamp, rev_id);
ALTER TABLE revision DROP COLUMN rev_comment, DROP COLUMN rev_user_text;
UPDATE actor SET actor_user = 5 WHERE actor_id = 3;
CREATE TABLE change_tag (ct_rc_id INT NULL, ct_log_id INT NULL, ct_rev_id INT NULL, ct_tag VARCHAR(255) NOT NULL, ct_params BLOB NULL, ct_id INT NOT NULL AUTO_INCREMENT, PRIMARY KEY (ct_id), UNIQUE INDEX rc_tag (ct_rc_id, ct_tag));
INSERT INTO change_tag VALUES (NULL, NULL, 1, 'mobile', NULL, 1), (1, NULL, 1, 'mobile', 'x', 2), (NULL, NULL, 1, 'mobile', NULL, 3);
ALTER TABLE change_tag ADD COLUMN ct_tag_id INT UNSIGNED NULL, MODIFY ct_rc_id BIGINT UNSIGNED NULL;
ALTER TABLE change_tag ADD INDEX tag_id (ct_tag_id, ct_rc_id);
UPDATE change_tag SET ct_tag_id = 1;
ALTER TABLE change_tag MODIFY ct_tag_id INT UNSIGNED NOT NULL, DROP INDEX rc_tag;
ALTER TABLE change_tag ADD UNIQUE INDEX rc_tag_id (ct_rc_id, ct_tag_id), DROP COLUMN ct_tag;
-- look
ALTER TABLE user MODIFY user_real_name VARCHAR(300) CHARACTER SET utf8mb4 NOT NULL DEFAULT '';
ALTER DATABASE app_wiki CHARACTER SET utf8mb4;
CREATE TABLE content (content_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, content_size INT UNSIGNED NOT NULL, content_sha1 VARBINARY(32) NOT NULL, content_address VARCHAR(255) NOT NULL DEFAULT 'tt:\\0');
INSERT INTO content (content_size, content_sha1) VALUES (1, ''), (2, 'x');
ALTER TABLE content ADD COLUMN content_model SMALLINT UNSIGNED NOT NULL DEFAULT 1, ALTER COLUMN content_size SET DEFAULT 0;
UPDATE content SET content_address = 'tt:😀' WHERE content_id = 2;
CREATE VIEW public_pages AS SELECT page_id, page_len FROM page WHERE page_is_redirect = 0;
CREATE VIEW last_edits AS SELECT p.page_id, r.rev_id, a.actor_id, c.comment_id FROM page p JOIN revision r ON r.rev_id = p.page_latest JOIN actor a ON a.actor_id = r.rev_actor JOIN comment c ON c.comment_id = r.rev_comment_id;
ALTER TABLE page ADD COLUMN page_counter BIGINT UNSIGNED NOT NULL DEFAULT 0;
RENAME TABLE interwiki TO app_wiki_cache.interwiki;
DROP VIEW public_pages;
DROP TABLE site_stats;
TRUNCATE TABLE comment;
DROP DATABASE app_wiki_cache;
-- look
