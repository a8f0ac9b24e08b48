-- table: CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR(10), ts TIMESTAMP NULL)
-- rows: 1, 'x', NULL

-- case: nothing
ALTER TABLE `t`

-- case: a comment
ALTER TABLE `t` COMMENT = 'new ''comment'' ; -- x'

-- case: AUTO_INCREMENT, by force
ALTER TABLE t /*T![force_inc] FORCE */ AUTO_INCREMENT = 5

-- case: AUTO_RANDOM_BASE, by force
ALTER TABLE t /*T![force_inc] FORCE */ AUTO_RANDOM_BASE = 5

-- case: AUTO_INCREMENT
ALTER TABLE t AUTO_INCREMENT = 1000

-- case: AUTO_ID_CACHE
ALTER TABLE t AUTO_ID_CACHE 200

-- case: AUTO_RANDOM_BASE
ALTER TABLE t /*T![auto_rand_base] AUTO_RANDOM_BASE = 100 */

-- case: SHARD_ROW_ID_BITS
ALTER TABLE t SHARD_ROW_ID_BITS = 4

-- case: TTL
ALTER TABLE t TTL = `ts` + INTERVAL 90 DAY TTL_ENABLE = 'OFF'

-- case: TTL goes
ALTER TABLE `t` /*T![ttl] REMOVE TTL */

-- case: TiFlash
ALTER TABLE t SET TIFLASH REPLICA 1

-- case: CACHE
ALTER TABLE t CACHE

-- case: the default character set alone
ALTER TABLE `t` CHARACTER SET UTF8MB4 COLLATE UTF8MB4_BIN

-- case: another character set of all columns
ALTER TABLE `t` CONVERT TO CHARACTER SET UTF8MB4 COLLATE UTF8MB4_GENERAL_CI
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `s` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL

-- case: the default character set and a column in it
ALTER TABLE t DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_general_ci, ADD COLUMN b VARCHAR(5)
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(5) character set utf8mb4 collate utf8mb4_general_ci NULL

-- case: partitions come
ALTER TABLE t PARTITION BY HASH (`id`) PARTITIONS 3

-- case: one partition more
ALTER TABLE `t` ADD PARTITION (PARTITION `p2` VALUES LESS THAN (300))

-- case: partitions are cut anew
ALTER TABLE `t` REORGANIZE PARTITION `p1`,`p2` INTO (PARTITION `p12` VALUES LESS THAN (300), PARTITION `pmax` VALUES LESS THAN (MAXVALUE))

-- case: partitions go and the rows stay
ALTER TABLE `t` REMOVE PARTITIONING

-- case: an unknown action
ALTER TABLE t ORDER BY id
-- stops: 'ORDER' is not translated

-- case: a constraint of an unknown kind
ALTER TABLE t DROP CONSTRAINT c
-- stops: DROP CONSTRAINT is not translated

-- case: another engine
ALTER TABLE t ENGINE = InnoDB
-- stops: 'ENGINE' is not translated

-- case: files of the server
LOAD DATA INFILE '/etc/passwd' INTO TABLE t
-- stops: LOAD DATA is not translated

-- case: a user
CREATE USER u
-- stops: CREATE USER is not translated

-- case: a privilege
GRANT ALL ON *.* TO u
-- stops: GRANT ALL is not translated

-- case: a function
CREATE FUNCTION f RETURNS INT SONAME 'f.so'
-- stops: CREATE FUNCTION is not translated

-- case: a dropped table comes back
RECOVER TABLE `t`
-- stops: s.t was not kept

-- case: two statements
ALTER TABLE t CACHE; DROP TABLE t
-- stops: unexpected 'DROP' after the statement

-- case: a rename to where nothing is
RENAME TABLE `s`.`t` TO `s`.`t2`;
-- sqlite: ALTER TABLE "t" RENAME TO "t2"
-- postgresql: ALTER TABLE "s"."t" RENAME TO "t2"
-- mysql: RENAME TABLE `s`.`t` TO `s`.`t2`

-- case: a rename by ALTER TABLE
ALTER TABLE t RENAME AS t2
-- sqlite: ALTER TABLE "t" RENAME TO "t2"
-- postgresql: ALTER TABLE "s"."t" RENAME TO "t2"
-- mysql: RENAME TABLE `s`.`t` TO `s`.`t2`

-- case: a rename to an odd name
RENAME TABLE `s`.`t` TO `s`.`t"; DROP TABLE t; --`
-- sqlite: ALTER TABLE "t" RENAME TO "t""; DROP TABLE t; --"
-- postgresql: ALTER TABLE "s"."t" RENAME TO "t""; DROP TABLE t; --"
-- mysql: RENAME TABLE `s`.`t` TO `s`.`t"; DROP TABLE t; --`

-- case: a rename of a table that is not there
RENAME TABLE `s`.`nowhere` TO `s`.`t2`
-- stops: neither exists

-- case: a rename in one statement with others
RENAME TABLE t TO t2, t3 TO t4
-- stops: RENAME TABLE is not translated

-- case: a table like another
CREATE TABLE `t2` LIKE `t`
-- sqlite: CREATE TABLE "t2" ("id" INTEGER NOT NULL, "s" TEXT, "ts" TEXT, PRIMARY KEY ("id"))
-- postgresql: CREATE TABLE "s"."t2" ("id" bigint NOT NULL, "s" text, "ts" timestamp with time zone, PRIMARY KEY ("id"))
-- mysql: CREATE TABLE `s`.`t2` (   `id` bigint NOT NULL,   `s` varchar(10) character set utf8mb4 collate utf8mb4_bin NULL,   `ts` timestamp NULL,   PRIMARY KEY (`id`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- case: a table in a database that it says, like one of a database that it does not say
CREATE TABLE `s`.`t2` LIKE `t`
-- stops: it does not name the database of t

-- case: a table like an unknown one
CREATE TABLE `t2` LIKE `nowhere`
-- stops: the definition of s.nowhere did not come

-- case: a table from a query
CREATE TABLE t2 AS SELECT * FROM t
-- stops: CREATE TABLE is not translated

-- case: a table goes
DROP TABLE `s`.`t`
-- sqlite: DROP TABLE IF EXISTS "t"
-- postgresql: DROP TABLE IF EXISTS "s"."t"
-- mysql: DROP TABLE IF EXISTS `s`.`t`

-- case: a table that is not there
DROP TABLE IF EXISTS nowhere

-- case: a table is emptied
TRUNCATE TABLE `t`
-- then:
-- sqlite: DELETE FROM "t"
-- postgresql: TRUNCATE TABLE "s"."t"
-- mysql: TRUNCATE TABLE `s`.`t`

-- case: defaults that strict servers refuse in TiDB's words
CREATE TABLE t2 (id INT PRIMARY KEY, d DATE DEFAULT 0, n INT DEFAULT 1.5, y YEAR DEFAULT 0, b BIT(8) DEFAULT x'41', c DECIMAL(4,1) DEFAULT 1.25, v VARCHAR(20000) CHARACTER SET latin1 DEFAULT 'x', w DATETIME DEFAULT 20240101)
-- sqlite: CREATE TABLE "t2" ("id" INTEGER NOT NULL, "d" TEXT, "n" INTEGER DEFAULT '2', "y" INTEGER DEFAULT '2000', "b" INTEGER DEFAULT '65', "c" TEXT DEFAULT '1.3', "v" TEXT DEFAULT 'x', "w" TEXT, PRIMARY KEY ("id"))
-- postgresql: CREATE TABLE "s"."t2" ("id" integer NOT NULL, "d" date, "n" integer DEFAULT '2', "y" smallint DEFAULT '2000', "b" bigint DEFAULT '65', "c" numeric(4,1) DEFAULT '1.3', "v" text DEFAULT 'x', "w" timestamp without time zone, PRIMARY KEY ("id"))
-- mysql: CREATE TABLE `s`.`t2` (   `id` int NOT NULL,   `d` date NULL DEFAULT '0000-00-00',   `n` int NULL DEFAULT '2',   `y` year NULL DEFAULT '2000',   `b` bit(8) NULL DEFAULT b'1000001',   `c` decimal(4,1) NULL DEFAULT '1.3',   `v` mediumtext character set utf8mb4 collate utf8mb4_bin NULL DEFAULT ('x'),   `w` datetime NULL DEFAULT '2024-01-01 00:00:00',   PRIMARY KEY (`id`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
-- tidb: CREATE TABLE `s`.`t2` (   `id` int NOT NULL,   `d` date NULL DEFAULT '0000-00-00',   `n` int NULL DEFAULT '2',   `y` year NULL DEFAULT '2000',   `b` bit(8) NULL DEFAULT b'1000001',   `c` decimal(4,1) NULL DEFAULT '1.3',   `v` varchar(20000) character set latin1 collate latin1_bin NULL DEFAULT 'x',   `w` datetime NULL DEFAULT '2024-01-01 00:00:00',   PRIMARY KEY (`id`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- case: a new table whose values come from sequences
CREATE TABLE t2 (id INT PRIMARY KEY DEFAULT NEXT VALUE FOR s.q, n BIGINT DEFAULT NEXTVAL(q), m INT DEFAULT (NEXT VALUE FOR q))
-- sqlite: CREATE TABLE "t2" ("id" INTEGER NOT NULL, "n" INTEGER, "m" INTEGER, PRIMARY KEY ("id"))
-- postgresql: CREATE TABLE "s"."t2" ("id" integer NOT NULL, "n" bigint, "m" integer, PRIMARY KEY ("id"))
-- mysql: CREATE TABLE `s`.`t2` (   `id` int NOT NULL,   `n` bigint NULL,   `m` int NULL,   PRIMARY KEY (`id`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
