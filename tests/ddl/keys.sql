-- table: CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, s VARCHAR(20), x TEXT, PRIMARY KEY (a), UNIQUE uk (b, s), KEY ix (s))
-- rows: 1, 11, 'x', 'long' | 2, 12, 'y', NULL

-- case: an index
ALTER TABLE t ADD INDEX i2 (b)
-- sqlite: CREATE INDEX "t_i2_3ab5416e" ON "t" ("b")
-- postgresql: CREATE INDEX "t_i2_3ab5416e" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` ADD KEY `i2` (`b`)

-- case: an index by CREATE INDEX
CREATE INDEX `ix1` ON `t` (`s` DESC, b)
-- sqlite: CREATE INDEX "t_ix1_732db684" ON "t" ("s", "b")
-- postgresql: CREATE INDEX "t_ix1_732db684" ON "s"."t" ("s", "b")
-- mysql: ALTER TABLE `s`.`t` ADD KEY `ix1` (`s`, `b`)

-- case: a unique index by CREATE INDEX
CREATE UNIQUE INDEX u2 ON t (b)
-- sqlite: CREATE UNIQUE INDEX "t_u2_9d71e66f" ON "t" ("b")
-- postgresql: CREATE UNIQUE INDEX "t_u2_9d71e66f" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` ADD UNIQUE KEY `u2` (`b`)

-- case: an index without a name
ALTER TABLE t ADD INDEX (b)
-- sqlite: CREATE INDEX "t_b_ef7d2156" ON "t" ("b")
-- postgresql: CREATE INDEX "t_b_ef7d2156" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` ADD KEY `b` (`b`)

-- case: an index on a prefix
ALTER TABLE t ADD INDEX p (s(5))
-- sqlite: CREATE INDEX "t_p_4989da3d" ON "t" (substr("s", 1, 5))
-- postgresql: CREATE INDEX "t_p_4989da3d" ON "s"."t" (substring("s" from 1 for 5))
-- mysql: ALTER TABLE `s`.`t` ADD KEY `p` (`s`(5))

-- case: a unique index on a prefix
ALTER TABLE t ADD UNIQUE KEY p (s(5))
-- sqlite: CREATE UNIQUE INDEX "t_p_4989da3d" ON "t" (substr("s", 1, 5))
-- postgresql: CREATE UNIQUE INDEX "t_p_4989da3d" ON "s"."t" (substring("s" from 1 for 5))
-- mysql: ALTER TABLE `s`.`t` ADD UNIQUE KEY `p` (`s`(5))

-- case: a unique index on text
ALTER TABLE t ADD UNIQUE `u s`(`s`)
-- sqlite: CREATE UNIQUE INDEX "t_u s_7fde833b" ON "t" ("s")
-- postgresql: CREATE UNIQUE INDEX "t_u s_7fde833b" ON "s"."t" ("s")
-- mysql: ALTER TABLE `s`.`t` ADD UNIQUE KEY `u s` (`s`)

-- case: an index over an expression is left out
ALTER TABLE `t` ADD INDEX `exprix`((LOWER(`s`)))

-- case: a unique index over a part of the rows is left out
CREATE UNIQUE INDEX part ON t (s) WHERE b > 5

-- case: a full text index is left out
ALTER TABLE t ADD FULLTEXT INDEX ft (x)

-- case: an index goes
ALTER TABLE t DROP INDEX ix
-- sqlite: DROP INDEX "t_ix_9a86438c"
-- postgresql: DROP INDEX "s"."t_ix_9a86438c"
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `ix`

-- case: an index goes by DROP INDEX
DROP INDEX `ix` ON `t`
-- sqlite: DROP INDEX "t_ix_9a86438c"
-- postgresql: DROP INDEX "s"."t_ix_9a86438c"
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `ix`

-- case: a unique index goes
ALTER TABLE t DROP INDEX uk
-- sqlite: DROP INDEX "t_uk_9bbaae5a"
-- postgresql: DROP INDEX "s"."t_uk_9bbaae5a"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "s" TYPE text USING "s"::text
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `uk`

-- case: an index that a foreign key had made for itself
ALTER TABLE t DROP INDEX fk_1

-- case: an index is renamed
ALTER TABLE t RENAME INDEX ix TO ix2
-- sqlite: DROP INDEX "t_ix_9a86438c"
-- sqlite: CREATE INDEX "t_ix2_2f19dc18" ON "t" ("s")
-- postgresql: ALTER INDEX "s"."t_ix_9a86438c" RENAME TO "t_ix2_2f19dc18"
-- mysql: ALTER TABLE `s`.`t` RENAME INDEX `ix` TO `ix2`

-- case: an index becomes invisible
ALTER TABLE t ALTER INDEX ix INVISIBLE

-- case: an index is replaced by another of its name
ALTER TABLE t DROP INDEX ix, ADD INDEX ix (b)
-- sqlite: DROP INDEX "t_ix_9a86438c"
-- sqlite: CREATE INDEX "t_ix_9a86438c" ON "t" ("b")
-- postgresql: DROP INDEX "s"."t_ix_9a86438c"
-- postgresql: CREATE INDEX "t_ix_9a86438c" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `ix`, ADD KEY `ix` (`b`)
-- tidb: ALTER TABLE `s`.`t` DROP INDEX `ix`
-- tidb: ALTER TABLE `s`.`t` ADD KEY `ix` (`b`)

-- case: the primary key goes
ALTER TABLE t DROP PRIMARY KEY
-- stops.tidb: has a clustered primary key, which TiDB does not drop
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("a" INTEGER NOT NULL, "b" INTEGER NOT NULL, "s" TEXT, "x" TEXT)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("a", "b", "s", "x") SELECT "a", "b", "s", "x" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_uk_9bbaae5a" ON "t" ("b", "s")
-- sqlite: CREATE INDEX "t_ix_9a86438c" ON "t" ("s")
-- postgresql: ALTER TABLE "s"."t" DROP CONSTRAINT "t_pkey"
-- mysql: ALTER TABLE `s`.`t` DROP PRIMARY KEY

-- case: another primary key
ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b) /*T![clustered_index] NONCLUSTERED */
-- stops.tidb: has a clustered primary key, which TiDB does not drop
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("a" INTEGER NOT NULL, "b" INTEGER NOT NULL, "s" TEXT, "x" TEXT, PRIMARY KEY ("b"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("a", "b", "s", "x") SELECT "a", "b", "s", "x" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_uk_9bbaae5a" ON "t" ("b", "s")
-- sqlite: CREATE INDEX "t_ix_9a86438c" ON "t" ("s")
-- postgresql: ALTER TABLE "s"."t" DROP CONSTRAINT "t_pkey"
-- postgresql: ALTER TABLE "s"."t" ADD PRIMARY KEY ("b")
-- mysql: ALTER TABLE `s`.`t` DROP PRIMARY KEY, ADD PRIMARY KEY (`b`)

-- case: a primary key of several columns
ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a, b)
-- stops.tidb: has a clustered primary key, which TiDB does not drop
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("a" INTEGER NOT NULL, "b" INTEGER NOT NULL, "s" TEXT, "x" TEXT, PRIMARY KEY ("a", "b"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("a", "b", "s", "x") SELECT "a", "b", "s", "x" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_uk_9bbaae5a" ON "t" ("b", "s")
-- sqlite: CREATE INDEX "t_ix_9a86438c" ON "t" ("s")
-- postgresql: ALTER TABLE "s"."t" DROP CONSTRAINT "t_pkey"
-- postgresql: ALTER TABLE "s"."t" ADD PRIMARY KEY ("a", "b")
-- mysql: ALTER TABLE `s`.`t` DROP PRIMARY KEY, ADD PRIMARY KEY (`a`, `b`)

-- case: a second primary key
ALTER TABLE t ADD PRIMARY KEY (b)
-- stops: two primary keys

-- case: an indexed column is renamed
ALTER TABLE t RENAME COLUMN s TO name
-- sqlite: ALTER TABLE "t" RENAME COLUMN "s" TO "name"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "s" TO "name"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `s` `name` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL

-- case: a column goes with its own index
ALTER TABLE t DROP INDEX uk, DROP COLUMN s
-- sqlite: DROP INDEX "t_uk_9bbaae5a"
-- sqlite: DROP INDEX "t_ix_9a86438c"
-- sqlite: ALTER TABLE "t" DROP COLUMN "s"
-- postgresql: DROP INDEX "s"."t_uk_9bbaae5a"
-- postgresql: DROP INDEX "s"."t_ix_9a86438c"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "s"
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `uk`, DROP INDEX `ix`, DROP COLUMN `s`
-- tidb: ALTER TABLE `s`.`t` DROP INDEX `uk`
-- tidb: ALTER TABLE `s`.`t` DROP INDEX `ix`
-- tidb: ALTER TABLE `s`.`t` DROP COLUMN `s`

-- case: a column of a composite key does not go alone
ALTER TABLE t DROP COLUMN b
-- stops: belongs to a key of several columns

-- case: a column and an index over it
ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 1, ADD INDEX ic (c, a)
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" INTEGER NOT NULL DEFAULT '1'
-- sqlite: CREATE INDEX "t_ic_2be11efa" ON "t" ("c", "a")
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" integer NOT NULL DEFAULT '1'
-- postgresql: CREATE INDEX "t_ic_2be11efa" ON "s"."t" ("c", "a")
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` int NOT NULL DEFAULT '1', ADD KEY `ic` (`c`, `a`)
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `c` int NOT NULL DEFAULT '1'
-- tidb: ALTER TABLE `s`.`t` ADD KEY `ic` (`c`, `a`)

-- case: an index on an unknown column
ALTER TABLE t ADD INDEX i2 (nowhere)
-- stops: index on an unknown column 'nowhere'

-- case: a check
ALTER TABLE t ADD CONSTRAINT ck CHECK (a > 0) NOT ENFORCED

-- case: a check goes
ALTER TABLE t DROP CHECK ck

-- table: CREATE TABLE t (a INT NOT NULL, b INT, UNIQUE ua (a))
-- rows: 1, 11 | 2, 12

-- case: a table gets its primary key
ALTER TABLE t ADD PRIMARY KEY (b)
-- then: 1 11 | 2 12
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("a" INTEGER NOT NULL, "b" INTEGER NOT NULL, PRIMARY KEY ("b"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("a", "b") SELECT "a", "b" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_ua_defb21de" ON "t" ("a")
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" SET NOT NULL
-- postgresql: ALTER TABLE "s"."t" ADD PRIMARY KEY ("b")
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `b` int NOT NULL, ADD PRIMARY KEY (`b`)
-- tidb: ALTER TABLE `s`.`t` MODIFY COLUMN `b` int NOT NULL
-- tidb: ALTER TABLE `s`.`t` ADD PRIMARY KEY (`b`)

-- case: a table loses its last key
ALTER TABLE t DROP INDEX ua
-- sqlite: DROP INDEX "t_ua_defb21de"
-- postgresql: DROP INDEX "s"."t_ua_defb21de"
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `ua`

-- case: a table with indexes is renamed
RENAME TABLE `s`.`t` TO `s`.`t2`
-- sqlite: ALTER TABLE "t" RENAME TO "t2"
-- sqlite: DROP INDEX "t_ua_defb21de"
-- sqlite: CREATE UNIQUE INDEX "t2_ua_d940a23d" ON "t2" ("a")
-- postgresql: ALTER TABLE "s"."t" RENAME TO "t2"
-- postgresql: ALTER INDEX IF EXISTS "s"."t_ua_defb21de" RENAME TO "t2_ua_d940a23d"
-- mysql: RENAME TABLE `s`.`t` TO `s`.`t2`
