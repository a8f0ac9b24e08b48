-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(9))
-- rows: 1, 10, 20, 'x' | 2, NULL, 30, 'y'

-- case: a column takes the name of one that goes, and a new one its own
ALTER TABLE t DROP COLUMN b, CHANGE COLUMN a b INT, ADD COLUMN a INT DEFAULT 7
-- then: 1 10 x 7 | 2 None y 7
-- sqlite: ALTER TABLE "t" DROP COLUMN "b"
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "b"
-- sqlite: ALTER TABLE "t" ADD COLUMN "a" INTEGER DEFAULT '7'
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "b"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "b"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a" integer DEFAULT '7'
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `b`, CHANGE COLUMN `a` `b` int NULL, ADD COLUMN `a` int NULL DEFAULT '7'
-- tidb: ALTER TABLE `s`.`t` DROP COLUMN `b`
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `b` int NULL
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `a` int NULL DEFAULT '7'

-- case: the same again, and the columns have the same places
ALTER TABLE t DROP COLUMN b, CHANGE COLUMN a b INT AFTER id, ADD COLUMN a INT DEFAULT 7 AFTER id
-- then: 1 7 10 x | 2 7 None y
-- sqlite: ALTER TABLE "t" DROP COLUMN "b"
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "b"
-- sqlite: ALTER TABLE "t" ADD COLUMN "a" INTEGER DEFAULT '7'
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "b"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "b"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a" integer DEFAULT '7'
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `b`, ADD COLUMN `a` int NULL DEFAULT '7' AFTER `id`, CHANGE COLUMN `a` `b` int NULL AFTER `a`
-- tidb: ALTER TABLE `s`.`t` DROP COLUMN `b`
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `b` int NULL
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `a` int NULL DEFAULT '7' AFTER `id`
-- tidb: ALTER TABLE `s`.`t` MODIFY COLUMN `b` int NULL AFTER `a`

-- case: the same without a default, so that nothing shows whether it ran
ALTER TABLE t DROP COLUMN b, CHANGE COLUMN a b INT AFTER id, ADD COLUMN a INT AFTER id
-- then: 1 None 10 x | 2 None None y
-- stops.mysql: has columns of the same names and types before and after it
-- stops.mariadb: has columns of the same names and types before and after it
-- stops.tidb: has columns of the same names and types before and after it
-- sqlite: ALTER TABLE "t" DROP COLUMN "b"
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "b"
-- sqlite: ALTER TABLE "t" ADD COLUMN "a" INTEGER
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "b"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "b"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a" integer

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(9), KEY ka (a), KEY kb (b))
-- rows: 1, 10, 20, 'x' | 2, NULL, 30, 'y'

-- case: names of columns and keys move on by one
ALTER TABLE t DROP COLUMN c, CHANGE COLUMN b c BIGINT FIRST, CHANGE COLUMN a b INT, DROP INDEX kb, RENAME INDEX ka TO kb, ADD INDEX ka (c, b)
-- then: 20 1 10 | 30 2 None
-- sqlite: DROP INDEX "t_kb_17bb98df"
-- sqlite: DROP INDEX "t_ka_33301f9f"
-- sqlite: ALTER TABLE "t" DROP COLUMN "c"
-- sqlite: ALTER TABLE "t" RENAME COLUMN "b" TO "c"
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "b"
-- sqlite: CREATE INDEX "t_ka_33301f9f" ON "t" ("c", "b")
-- sqlite: CREATE INDEX "t_kb_17bb98df" ON "t" ("b")
-- postgresql: DROP INDEX "s"."t_kb_17bb98df"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "c"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "b" TO "c"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "b"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "c" TYPE bigint USING "c"::bigint
-- postgresql: ALTER INDEX "s"."t_ka_33301f9f" RENAME TO "t_kb_17bb98df"
-- postgresql: CREATE INDEX "t_ka_33301f9f" ON "s"."t" ("c", "b")
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `kb`, DROP COLUMN `c`, CHANGE COLUMN `b` `c` bigint NULL FIRST, CHANGE COLUMN `a` `b` int NULL, ADD KEY `ka` (`c`, `b`), RENAME INDEX `ka` TO `kb`
-- tidb: ALTER TABLE `s`.`t` DROP INDEX `kb`, DROP COLUMN `c`
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `b` `c` bigint NULL
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `b` int NULL, MODIFY COLUMN `c` bigint NULL FIRST, RENAME INDEX `ka` TO `kb`
-- tidb: ALTER TABLE `s`.`t` ADD KEY `ka` (`c`, `b`)

-- case: two keys change their names
ALTER TABLE t DROP INDEX ka, DROP INDEX kb, ADD INDEX ka (b), ADD INDEX kb (a)
-- sqlite: DROP INDEX "t_ka_33301f9f"
-- sqlite: DROP INDEX "t_kb_17bb98df"
-- sqlite: CREATE INDEX "t_kb_17bb98df" ON "t" ("a")
-- sqlite: CREATE INDEX "t_ka_33301f9f" ON "t" ("b")
-- postgresql: DROP INDEX "s"."t_ka_33301f9f"
-- postgresql: DROP INDEX "s"."t_kb_17bb98df"
-- postgresql: CREATE INDEX "t_kb_17bb98df" ON "s"."t" ("a")
-- postgresql: CREATE INDEX "t_ka_33301f9f" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `ka`, DROP INDEX `kb`, ADD KEY `kb` (`a`), ADD KEY `ka` (`b`)
-- tidb: ALTER TABLE `s`.`t` DROP INDEX `ka`, DROP INDEX `kb`
-- tidb: ALTER TABLE `s`.`t` ADD KEY `kb` (`a`), ADD KEY `ka` (`b`)

-- table: CREATE TABLE t (id INT PRIMARY KEY NONCLUSTERED, a INT NOT NULL, s VARCHAR(9), KEY ks (s))
-- rows: 1, 10, 'x' | 2, 20, NULL

-- case: the primary key goes where rows have a place of their own
ALTER TABLE t DROP PRIMARY KEY
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER NOT NULL, "s" TEXT)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s") SELECT "id", "a", "s" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_ks_44571f87" ON "t" ("s")
-- postgresql: ALTER TABLE "s"."t" DROP CONSTRAINT "t_pkey"
-- mysql: ALTER TABLE `s`.`t` DROP PRIMARY KEY

-- case: another primary key where rows have a place of their own
ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a), MODIFY COLUMN id BIGINT UNSIGNED, ADD COLUMN d DATETIME NOT NULL, DROP INDEX ks, ADD INDEX ks (d, s)
-- stops.postgresql: PostgreSQL has no date 0000-00-00 00:00:00
-- then: 1 10 x 0000-00-00 00:00:00 | 2 20 None 0000-00-00 00:00:00
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" TEXT, "a" INTEGER NOT NULL, "s" TEXT, "d" TEXT NOT NULL, PRIMARY KEY ("a"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "d") SELECT CAST("id" AS TEXT), "a", "s", '0000-00-00 00:00:00' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_ks_44571f87" ON "t" ("d", "s")
-- mysql: ALTER TABLE `s`.`t` DROP PRIMARY KEY, DROP INDEX `ks`, MODIFY COLUMN `id` bigint unsigned NULL, ADD COLUMN `d` datetime NOT NULL DEFAULT '0000-00-00 00:00:00', ADD PRIMARY KEY (`a`), ADD KEY `ks` (`d`, `s`)
-- mysql: ALTER TABLE `s`.`t` ALTER COLUMN `d` DROP DEFAULT
-- tidb: ALTER TABLE `s`.`t` DROP PRIMARY KEY, DROP INDEX `ks`
-- tidb: ALTER TABLE `s`.`t` MODIFY COLUMN `id` bigint unsigned NULL, ADD COLUMN `d` datetime NOT NULL DEFAULT '0000-00-00 00:00:00', ADD PRIMARY KEY (`a`)
-- tidb: ALTER TABLE `s`.`t` ADD KEY `ks` (`d`, `s`)
-- tidb: ALTER TABLE `s`.`t` ALTER COLUMN `d` DROP DEFAULT

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(9))
-- rows: 1, 10, 'x'

-- case: a column after the renamed one before it
ALTER TABLE t RENAME COLUMN s TO z, MODIFY COLUMN a BIGINT AFTER z, ADD COLUMN n INT AFTER a, ADD UNIQUE INDEX un (n), ADD INDEX ka (a)
-- then: 1 x 10 None
-- sqlite: ALTER TABLE "t" RENAME COLUMN "s" TO "z"
-- sqlite: ALTER TABLE "t" ADD COLUMN "n" INTEGER
-- sqlite: CREATE UNIQUE INDEX "t_un_ed0adf59" ON "t" ("n")
-- sqlite: CREATE INDEX "t_ka_33301f9f" ON "t" ("a")
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "s" TO "z"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "n" integer
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" TYPE bigint USING "a"::bigint
-- postgresql: CREATE UNIQUE INDEX "t_un_ed0adf59" ON "s"."t" ("n")
-- postgresql: CREATE INDEX "t_ka_33301f9f" ON "s"."t" ("a")
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `s` `z` varchar(9) character set utf8mb4 collate utf8mb4_bin NULL, MODIFY COLUMN `a` bigint NULL AFTER `z`, ADD COLUMN `n` int NULL AFTER `a`, ADD UNIQUE KEY `un` (`n`), ADD KEY `ka` (`a`)
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `s` `z` varchar(9) character set utf8mb4 collate utf8mb4_bin NULL
-- tidb: ALTER TABLE `s`.`t` MODIFY COLUMN `a` bigint NULL AFTER `z`
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `n` int NULL AFTER `a`
-- tidb: ALTER TABLE `s`.`t` ADD UNIQUE KEY `un` (`n`), ADD KEY `ka` (`a`)
