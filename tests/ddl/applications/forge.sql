-- A code forge: migrations that add one column at a time, times as numbers, foreign keys with actions, CHECKs of lengths,
-- indexes that are made again wider, a table that is divided by time, texts that become numbers.
CREATE DATABASE app_forge;
USE app_forge;
CREATE TABLE `user` (
  `id` BIGINT AUTO_INCREMENT PRIMARY KEY,
  `lower_name` VARCHAR(255) NOT NULL,
  `name` VARCHAR(255) NOT NULL,
  `full_name` VARCHAR(255),
  `email` VARCHAR(255) NOT NULL,
  `passwd` VARCHAR(255) NOT NULL,
  `type` INT,
  `location` VARCHAR(255),
  `is_admin` TINYINT(1),
  `created_unix` BIGINT,
  UNIQUE KEY `uqe_user_lower_name` (`lower_name`),
  UNIQUE KEY `uqe_user_name` (`name`),
  KEY `idx_user_created_unix` (`created_unix`)
) COLLATE utf8mb4_bin;
CREATE TABLE `repository` (
  `id` BIGINT AUTO_INCREMENT PRIMARY KEY,
  `owner_id` BIGINT,
  `lower_name` VARCHAR(255) NOT NULL,
  `name` VARCHAR(255) NOT NULL,
  `description` TEXT,
  `is_private` TINYINT(1),
  `num_stars` INT,
  `size` BIGINT DEFAULT 0 NOT NULL,
  `created_unix` BIGINT,
  UNIQUE KEY `uqe_repository_s` (`owner_id`,`lower_name`),
  KEY `idx_repository_name` (`name`)
) COLLATE utf8mb4_bin;
CREATE TABLE `issue` (
  `id` BIGINT AUTO_INCREMENT PRIMARY KEY,
  `repo_id` BIGINT,
  `index` BIGINT,
  `poster_id` BIGINT,
  `name` VARCHAR(255),
  `content` LONGTEXT,
  `priority` INT,
  `is_closed` TINYINT(1),
  `deadline` VARCHAR(20),
  `created_unix` BIGINT,
  UNIQUE KEY `uqe_issue_repo_index` (`repo_id`,`index`)
) COLLATE utf8mb4_bin;
CREATE TABLE `version` (`id` BIGINT PRIMARY KEY, `version` BIGINT);
INSERT INTO `version` VALUES (1, 70);
INSERT INTO `user` VALUES
  (1, 'root', 'Root', NULL, 'root@example.org', '', 0, '', 1, 1500000000), (2, 'zoë', 'Zoë', 'Zoë Z', '', 'x', 0, NULL, 0, 1500000001),
  (3, 'lab', 'Lab', '', '', '', 1, 'C:\\dir', 0, 1500000002);
INSERT INTO `repository` VALUES (1, 3, 'tool', 'Tool', 'What it\'s for', 0, 2, 1024, 1500000100), (2, 2, 'tool', 'tool', NULL, 1, NULL, 0, 1500000101);
INSERT INTO `issue` VALUES (1, 1, 1, 2, 'Crash', 'It crashes\n\tat once', 1, 0, '1600000000', 1500000200), (2, 1, 2, 1, '😀', '', NULL, 1, '', 1500000201),
  (3, 2, 1, 2, NULL, NULL, 0, NULL, NULL, NULL);
-- look
ALTER TABLE `user` ADD `use_custom_avatar` TINYINT(1) NULL;
ALTER TABLE `user` ADD COLUMN `visibility` INT NOT NULL DEFAULT 0, ADD COLUMN `theme` VARCHAR(255) NOT NULL DEFAULT '';
ALTER TABLE `user` ADD COLUMN `language` VARCHAR(5), ADD COLUMN `keep_email_private` TINYINT(1), ADD COLUMN `salt` VARCHAR(32);
ALTER TABLE `user` MODIFY COLUMN `passwd` VARCHAR(1024) NOT NULL;
UPDATE `user` SET `theme` = 'arc-green', `salt` = LEFT(MD5(`id`), 10) WHERE `id` < 3;
ALTER TABLE `repository` ADD COLUMN `is_fork` TINYINT(1) DEFAULT 0 NOT NULL, ADD COLUMN `fork_id` BIGINT;
ALTER TABLE `repository` ADD INDEX `idx_repository_fork_id` (`fork_id`);
ALTER TABLE `repository` ADD COLUMN `status` INT DEFAULT 0 NOT NULL AFTER `is_private`;
ALTER TABLE `repository` ADD COLUMN `topics` JSON NULL, ADD COLUMN `trust_model` INT;
UPDATE `repository` SET `topics` = '["go", "git"]', `fork_id` = 1 WHERE `id` = 2;
ALTER TABLE `repository` DROP INDEX `idx_repository_name`, ADD INDEX `idx_repository_name_private` (`name`, `is_private`);
ALTER TABLE `issue` RENAME COLUMN `name` TO `title`;
ALTER TABLE `issue` ADD COLUMN `milestone_id` BIGINT, ADD COLUMN `updated_unix` BIGINT DEFAULT 0;
CREATE INDEX `idx_issue_updated` ON `issue` (`updated_unix`);
UPDATE `issue` SET `deadline` = NULL WHERE `deadline` = '';
ALTER TABLE `issue` CHANGE COLUMN `deadline` `deadline_unix` BIGINT NULL;
ALTER TABLE `issue` MODIFY COLUMN `priority` SMALLINT;
UPDATE `version` SET `version` = 90;
-- look
CREATE TABLE `label` (
  `id` BIGINT AUTO_INCREMENT PRIMARY KEY, `repo_id` BIGINT, `name` VARCHAR(255), `color` VARCHAR(7), `exclusive` TINYINT(1),
  INDEX `idx_label_repo` (`repo_id`)
);
CREATE TABLE `issue_label` (
  `id` BIGINT AUTO_INCREMENT PRIMARY KEY, `issue_id` BIGINT, `label_id` BIGINT,
  UNIQUE KEY `uqe_issue_label_s` (`issue_id`,`label_id`)
);
INSERT INTO `label` VALUES (1, 1, 'kind/bug', '#ee0701', 0), (2, 1, 'prio/high', '#abcdef', 1);
INSERT INTO `issue_label` VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1);
CREATE TABLE `comment` (
  `id` BIGINT AUTO_INCREMENT PRIMARY KEY, `type` INT, `poster_id` BIGINT, `issue_id` BIGINT, `content` LONGTEXT,
  `commit_sha` VARCHAR(40), `created_unix` BIGINT, `patch` LONGBLOB,
  CONSTRAINT `fk_comment_issue` FOREIGN KEY (`issue_id`) REFERENCES `issue` (`id`) ON DELETE CASCADE,
  CONSTRAINT `fk_comment_poster` FOREIGN KEY (`poster_id`) REFERENCES `user` (`id`) ON DELETE SET NULL
);
INSERT INTO `comment` VALUES (1, 0, 2, 1, 'Same here', NULL, 1, x'00ff5c27'), (2, 0, 1, 2, '', REPEAT('a', 40), 2, NULL), (3, 1, 2, 2, NULL, NULL, NULL, '');
DELETE FROM `issue` WHERE `id` = 2;
DELETE FROM `user` WHERE `id` = 1;
ALTER TABLE `comment` ADD COLUMN `review_id` BIGINT, ADD COLUMN `invalidated` TINYINT(1) DEFAULT 0;
ALTER TABLE `comment` MODIFY `commit_sha` VARCHAR(64), DROP FOREIGN KEY `fk_comment_poster`;
-- look
-- Keys of labels by name, and a limit to each text, as a CHECK.
ALTER TABLE `label` ADD COLUMN `org_id` BIGINT, ADD COLUMN `description` VARCHAR(255) NOT NULL DEFAULT '-';
ALTER TABLE `label` ADD CONSTRAINT `check_color` CHECK (char_length(`color`) <= 7);
ALTER TABLE `label` ADD UNIQUE INDEX `uqe_label_repo_name` (`repo_id`, `name`);
UPDATE `label` SET `color` = '#000000' WHERE `id` = 2;
ALTER TABLE `label` ADD COLUMN `scope` VARCHAR(100) AS (SUBSTRING(`name`, 1, 4)) VIRTUAL;
ALTER TABLE `label` RENAME INDEX `idx_label_repo` TO `idx_label_repo_id`;
CREATE TABLE `audit_event` (
  `id` BIGINT NOT NULL, `author_id` BIGINT NOT NULL, `details` TEXT, `ip` VARBINARY(16), `created_at` DATETIME(6) NOT NULL,
  PRIMARY KEY (`id`, `created_at`), KEY `of_author` (`author_id`, `created_at`)
) PARTITION BY RANGE COLUMNS (`created_at`) (
  PARTITION `p2023` VALUES LESS THAN ('2024-01-01'), PARTITION `p2024` VALUES LESS THAN ('2025-01-01'), PARTITION `pmax` VALUES LESS THAN (MAXVALUE)
);
INSERT INTO `audit_event` VALUES (1, 2, '---\n:add: user', x'7f000001', '2023-05-06 07:08:09.123456'), (2, 2, NULL, NULL, '2024-01-01 00:00:00'),
  (3, 3, '', x'', '2025-06-07 00:00:00.000001');
ALTER TABLE `audit_event` DROP PARTITION `p2023`;
ALTER TABLE `audit_event` REORGANIZE PARTITION `pmax` INTO (PARTITION `p2025` VALUES LESS THAN ('2026-01-01'), PARTITION `pmax` VALUES LESS THAN (MAXVALUE));
ALTER TABLE `audit_event` TRUNCATE PARTITION `p2024`;
ALTER TABLE `audit_event` ADD COLUMN `entity` ENUM('user','group') NOT NULL DEFAULT 'user';
INSERT INTO `audit_event` VALUES (4, 2, '', NULL, '2024-02-29 12:00:00', 'group');
ALTER TABLE `audit_event` MODIFY COLUMN `entity` ENUM('user','group','project','it''s') NOT NULL DEFAULT 'project';
-- look
CREATE TABLE `hook_task` (
  `id` BIGINT AUTO_INCREMENT PRIMARY KEY, `hook_id` BIGINT, `uuid` VARCHAR(255) DEFAULT (UUID()), `meta` JSON DEFAULT (JSON_ARRAY()), `payload` LONGTEXT, `is_delivered` TINYINT(1),
  `delivered` BIGINT, `state` BIT(3) NOT NULL DEFAULT b'101', `rate` DOUBLE NOT NULL DEFAULT 0.5, `share` FLOAT DEFAULT 0.1,
  `limit_at` TIME NOT NULL DEFAULT '-01:02:03', `since` YEAR DEFAULT 2020, `day` DATE DEFAULT '2020-02-29'
);
INSERT INTO `hook_task` (`hook_id`, `payload`) VALUES (1, '{}'), (2, NULL);
ALTER TABLE `hook_task` ADD COLUMN `made` DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE `hook_task` ADD COLUMN `seen` TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3);
ALTER TABLE `hook_task` ADD COLUMN `day_of` DATE DEFAULT (CURRENT_DATE);
UPDATE `hook_task` SET `share` = 1e-3, `seen` = '2021-01-01 00:00:00.125' WHERE `id` = 1;
ALTER TABLE `hook_task` MODIFY COLUMN `share` DOUBLE, DROP COLUMN `uuid`;
UPDATE `hook_task` SET `delivered` = 0;
ALTER TABLE `hook_task` MODIFY COLUMN `delivered` BIGINT NOT NULL DEFAULT 0;
INSERT INTO `hook_task` (`hook_id`, `payload`, `delivered`, `day_of`, `made`, `seen`) VALUES (3, '[]', 5, NULL, '2022-01-01 00:00:00', NULL);
-- look
CREATE TABLE `tmp_recreate__topic` (`id` BIGINT AUTO_INCREMENT PRIMARY KEY, `name` VARCHAR(50) COLLATE utf8mb4_0900_ai_ci, `repo_count` INT, UNIQUE KEY `uqe_topic_name` (`name`));
INSERT INTO `tmp_recreate__topic` VALUES (1, 'Go', 1), (2, 'git', 1);
ALTER TABLE `tmp_recreate__topic` RENAME TO `topic`;
CREATE TABLE `repo_topic` (`repo_id` BIGINT NOT NULL, `topic_id` BIGINT NOT NULL, PRIMARY KEY (`repo_id`, `topic_id`));
INSERT INTO `repo_topic` VALUES (1, 1), (1, 2), (2, 2);
CREATE VIEW `open_issues` AS SELECT i.`id`, i.`title`, r.`name` AS `repo`, u.`name` AS `poster`, l.`label_id`
  FROM `issue` i JOIN `repository` r ON r.`id` = i.`repo_id` JOIN `user` u ON u.`id` = i.`poster_id` JOIN `issue_label` l ON l.`issue_id` = i.`id`
  WHERE i.`is_closed` = 0;
ALTER TABLE `issue` ADD COLUMN `is_locked` TINYINT(1) NOT NULL DEFAULT 0;
CREATE TABLE `u2f` (`id` BIGINT AUTO_INCREMENT PRIMARY KEY, `raw` BLOB, `counter` INT UNSIGNED NOT NULL DEFAULT 4294967295, `used` DECIMAL(20,0) UNSIGNED);
INSERT INTO `u2f` (`raw`, `used`) VALUES (x'0102', 18446744073709551615);
ALTER TABLE `u2f` MODIFY `counter` BIGINT UNSIGNED NOT NULL DEFAULT 18446744073709551615, MODIFY `used` DECIMAL(22,2) UNSIGNED NOT NULL DEFAULT 0;
INSERT INTO `u2f` (`raw`, `used`) VALUES (NULL, 0.5);
ALTER TABLE `u2f` MODIFY COLUMN `raw` VARBINARY(300);
DROP TABLE `version`;
TRUNCATE TABLE `issue_label`;
ALTER TABLE `repository` DROP COLUMN `trust_model`, DROP COLUMN `topics`;
ALTER TABLE `user` DROP INDEX `uqe_user_name`, ADD UNIQUE INDEX `uqe_user_type_name` (`type`, `name`);
UPDATE `user` SET `id` = 20 WHERE `id` = 2;
-- look
