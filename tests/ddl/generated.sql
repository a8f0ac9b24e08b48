-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10))
-- rows: 1, 5, 'x' | 2, NULL, 'y'

-- case: a virtual column that every target computes
ALTER TABLE t ADD COLUMN b BIGINT GENERATED ALWAYS AS (a + 1) VIRTUAL
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER GENERATED ALWAYS AS (("a" + 1)) VIRTUAL
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bigint GENERATED ALWAYS AS ((("a"::numeric + 1::numeric))::bigint) STORED
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` bigint GENERATED ALWAYS AS ((`a` + 1)) VIRTUAL
-- then: 1 5 x 6 | 2 None y None

-- case: a virtual column among the others
ALTER TABLE t ADD COLUMN b VARCHAR(40) AS (CONCAT(s, '-', id)) AFTER id, ADD COLUMN c INT AFTER b
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" INTEGER
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT GENERATED ALWAYS AS (("s" || '-' || CAST("id" AS TEXT))) VIRTUAL
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" integer
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text GENERATED ALWAYS AS (("s" || '-'::text || "id"::numeric::text)) STORED
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(40) character set utf8mb4 collate utf8mb4_bin GENERATED ALWAYS AS (CONCAT(`s`, '-', `id`)) VIRTUAL AFTER `id`, ADD COLUMN `c` int NULL AFTER `b`
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(40) character set utf8mb4 collate utf8mb4_bin GENERATED ALWAYS AS (CONCAT(`s`, '-', `id`)) VIRTUAL AFTER `id`
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `c` int NULL AFTER `b`
-- then: 1 x-1 None 5 x | 2 y-2 None None y

-- case: a text with its character set, in a column's expression and a CHECK
ALTER TABLE `t` ADD COLUMN `b` VARCHAR(40) GENERATED ALWAYS AS(CONCAT(`s`, _UTF8MB4'it''s', _UTF8'-')) VIRTUAL, ADD CONSTRAINT `k` CHECK(`s`!=_UTF8MB4'\d\' OR `s` LIKE _UTF8MB4'a|%' ESCAPE '|') ENFORCED
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT GENERATED ALWAYS AS (("s" || 'it''s' || '-')) VIRTUAL
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text GENERATED ALWAYS AS (("s" || 'it''s'::text || '-'::text)) STORED
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(40) character set utf8mb4 collate utf8mb4_bin GENERATED ALWAYS AS (CONCAT(`s`, CONVERT(x'69742773' USING utf8mb4), '-')) VIRTUAL
-- then: 1 5 x xit's- | 2 None y yit's-

-- case: a text with a backslash in a column's expression
ALTER TABLE `t` ADD COLUMN `b` VARCHAR(40) GENERATED ALWAYS AS(CONCAT(_UTF8MB4'C:\\', `s`)) VIRTUAL
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT GENERATED ALWAYS AS (('C:\' || "s")) VIRTUAL
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text GENERATED ALWAYS AS (('C:\'::text || "s")) STORED
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(40) character set utf8mb4 collate utf8mb4_bin GENERATED ALWAYS AS (CONCAT(CONVERT(x'433a5c' USING utf8mb4), `s`)) VIRTUAL
-- then: 1 5 x C:\x | 2 None y C:\y

-- case: a virtual column that no target computes
ALTER TABLE t ADD COLUMN b DOUBLE AS (SQRT(a)) VIRTUAL, ADD UNIQUE KEY u (b)
-- then: 1 5 x | 2 None y

-- case: a column behind one that is left out
ALTER TABLE t ADD COLUMN b DOUBLE AS (SQRT(a)) VIRTUAL AFTER id, ADD COLUMN c INT AFTER b
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` int NULL AFTER `id`
-- then: 1 None 5 x | 2 None None y

-- case: a virtual column that the MySQL family computes
ALTER TABLE t ADD COLUMN b INT AS (CHAR_LENGTH(REVERSE(s)))
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int GENERATED ALWAYS AS (CHAR_LENGTH(REVERSE(`s`))) VIRTUAL
-- then.sqlite: 1 5 x | 2 None y
-- then.postgresql: 1 5 x | 2 None y
-- then: 1 5 x 1 | 2 None y 1

-- case: a unique virtual column
ALTER TABLE t ADD COLUMN b INT AS (IF(a IS NULL, 1, NULL)) UNIQUE
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER GENERATED ALWAYS AS (CASE WHEN ("a" IS NULL) THEN 1 ELSE NULL END) VIRTUAL
-- sqlite: CREATE UNIQUE INDEX "t_b_ef7d2156" ON "t" ("b")
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer GENERATED ALWAYS AS ((CASE WHEN ("a"::numeric IS NULL) THEN 1::numeric ELSE NULL END)::integer) STORED
-- postgresql: CREATE UNIQUE INDEX "t_b_ef7d2156" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int GENERATED ALWAYS AS (CASE WHEN (`a` IS NULL) THEN 1 ELSE NULL END) VIRTUAL, ADD UNIQUE KEY `b` (`b`)
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` int GENERATED ALWAYS AS (CASE WHEN (`a` IS NULL) THEN 1 ELSE NULL END) VIRTUAL
-- tidb: ALTER TABLE `s`.`t` ADD UNIQUE KEY `b` (`b`)
-- then: 1 5 x None | 2 None y 1

-- case: a name that needs quotes
ALTER TABLE t ADD COLUMN `odd "``n` INT AS (`A` + 0)
-- sqlite: ALTER TABLE "t" ADD COLUMN "odd ""`n" INTEGER GENERATED ALWAYS AS (("a" + 0)) VIRTUAL
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "odd ""`n" integer GENERATED ALWAYS AS ((("a"::numeric + 0::numeric))::integer) STORED
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `odd "``n` int GENERATED ALWAYS AS ((`a` + 0)) VIRTUAL
-- then: 1 5 x 5 | 2 None y None

-- case: a table with virtual columns
CREATE TABLE fresh_one (id INT PRIMARY KEY, v BIGINT AS (id * 2) VIRTUAL NOT NULL, d DOUBLE AS (SQRT(id)), UNIQUE KEY uv (v), KEY kd (d), UNIQUE KEY ud (id, d))
-- sqlite: CREATE TABLE "fresh_one" ("id" INTEGER NOT NULL, "v" INTEGER GENERATED ALWAYS AS (("id" * 2)) VIRTUAL, PRIMARY KEY ("id"))
-- sqlite: CREATE UNIQUE INDEX "fresh_one_uv_7e41d96e" ON "fresh_one" ("v")
-- postgresql: CREATE TABLE "s"."fresh_one" ("id" integer NOT NULL, "v" bigint GENERATED ALWAYS AS ((("id"::numeric * 2::numeric))::bigint) STORED, PRIMARY KEY ("id"))
-- postgresql: CREATE UNIQUE INDEX "fresh_one_uv_7e41d96e" ON "s"."fresh_one" ("v")
-- mysql: CREATE TABLE `s`.`fresh_one` (   `id` int NOT NULL,   `v` bigint GENERATED ALWAYS AS ((`id` * 2)) VIRTUAL,   PRIMARY KEY (`id`),   UNIQUE KEY `uv` (`v`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b BIGINT AS (a + 1) VIRTUAL, c INT, s VARCHAR(10), KEY kb (b), UNIQUE KEY ub (b, c))
-- rows: 1, 5, 7, 'x' | 2, NULL, 8, 'y'

-- case: a virtual column with its key goes
ALTER TABLE t DROP INDEX ub, DROP COLUMN b
-- sqlite: DROP INDEX "t_kb_17bb98df"
-- sqlite: DROP INDEX "t_ub_374b73cf"
-- sqlite: ALTER TABLE "t" DROP COLUMN "b"
-- postgresql: DROP INDEX "s"."t_kb_17bb98df"
-- postgresql: DROP INDEX "s"."t_ub_374b73cf"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "b"
-- mysql: ALTER TABLE `s`.`t` DROP INDEX `kb`, DROP INDEX `ub`, DROP COLUMN `b`
-- tidb: ALTER TABLE `s`.`t` DROP INDEX `kb`
-- tidb: ALTER TABLE `s`.`t` DROP INDEX `ub`
-- tidb: ALTER TABLE `s`.`t` DROP COLUMN `b`
-- then: 1 5 7 x | 2 None 8 y

-- case: a virtual column is renamed
ALTER TABLE t RENAME COLUMN b TO z
-- sqlite: ALTER TABLE "t" RENAME COLUMN "b" TO "z"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "b" TO "z"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `b` `z` bigint GENERATED ALWAYS AS ((`a` + 1)) VIRTUAL
-- then: 1 5 6 7 x | 2 None None 8 y

-- case: the column that it reads may not be NULL
ALTER TABLE t MODIFY COLUMN c INT NOT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "b" INTEGER GENERATED ALWAYS AS (("a" + 1)) VIRTUAL, "c" INTEGER NOT NULL, "s" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "c", "s") SELECT "id", "a", "c", "s" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_kb_17bb98df" ON "t" ("b")
-- sqlite: CREATE UNIQUE INDEX "t_ub_374b73cf" ON "t" ("b", "c")
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "c" SET NOT NULL
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `c` int NOT NULL
-- then: 1 5 6 7 x | 2 None None 8 y

-- case: another column goes
ALTER TABLE t DROP COLUMN s
-- sqlite: ALTER TABLE "t" DROP COLUMN "s"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "s"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `s`
-- then: 1 5 6 7 | 2 None None 8

-- case: the index over it gets another name
ALTER TABLE t RENAME INDEX kb TO kz
-- sqlite: DROP INDEX "t_kb_17bb98df"
-- sqlite: CREATE INDEX "t_kz_1d809c36" ON "t" ("b")
-- postgresql: ALTER INDEX "s"."t_kb_17bb98df" RENAME TO "t_kz_1d809c36"
-- mysql: ALTER TABLE `s`.`t` RENAME INDEX `kb` TO `kz`
-- then: 1 5 6 7 x | 2 None None 8 y

-- case: another table like it
CREATE TABLE fresh_two LIKE t
-- sqlite: CREATE TABLE "fresh_two" ("id" INTEGER NOT NULL, "a" INTEGER, "b" INTEGER GENERATED ALWAYS AS (("a" + 1)) VIRTUAL, "c" INTEGER, "s" TEXT, PRIMARY KEY ("id"))
-- sqlite: CREATE INDEX "fresh_two_kb_a1306ed6" ON "fresh_two" ("b")
-- sqlite: CREATE UNIQUE INDEX "fresh_two_ub_06303b01" ON "fresh_two" ("b", "c")
-- postgresql: CREATE TABLE "s"."fresh_two" ("id" integer NOT NULL, "a" integer, "b" bigint GENERATED ALWAYS AS ((("a"::numeric + 1::numeric))::bigint) STORED, "c" integer, "s" text, PRIMARY KEY ("id"))
-- postgresql: CREATE INDEX "fresh_two_kb_a1306ed6" ON "s"."fresh_two" ("b")
-- postgresql: CREATE UNIQUE INDEX "fresh_two_ub_06303b01" ON "s"."fresh_two" ("b", "c")
-- mysql: CREATE TABLE `s`.`fresh_two` (   `id` int NOT NULL,   `a` int NULL,   `b` bigint GENERATED ALWAYS AS ((`a` + 1)) VIRTUAL,   `c` int NULL,   `s` varchar(10) character set utf8mb4 collate utf8mb4_bin NULL,   PRIMARY KEY (`id`),   KEY `kb` (`b`),   UNIQUE KEY `ub` (`b`, `c`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- case: the table gets another name
RENAME TABLE t TO t2
-- sqlite: ALTER TABLE "t" RENAME TO "t2"
-- sqlite: DROP INDEX "t_kb_17bb98df"
-- sqlite: CREATE INDEX "t2_kb_5e4930b0" ON "t2" ("b")
-- sqlite: DROP INDEX "t_ub_374b73cf"
-- sqlite: CREATE UNIQUE INDEX "t2_ub_13e1c871" ON "t2" ("b", "c")
-- postgresql: ALTER TABLE "s"."t" RENAME TO "t2"
-- postgresql: ALTER INDEX IF EXISTS "s"."t_kb_17bb98df" RENAME TO "t2_kb_5e4930b0"
-- postgresql: ALTER INDEX IF EXISTS "s"."t_ub_374b73cf" RENAME TO "t2_ub_13e1c871"
-- mysql: RENAME TABLE `s`.`t` TO `s`.`t2`

-- case: all rows go
TRUNCATE TABLE t
-- sqlite: DELETE FROM "t"
-- postgresql: TRUNCATE TABLE "s"."t"
-- mysql: TRUNCATE TABLE `s`.`t`
-- then:

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b BIGINT AS (a + 1) VIRTUAL, c INT, s VARCHAR(10))
-- rows: 1, 5, 7, 'x' | 2, NULL, 8, 'y'

-- case: a virtual column gets another expression
ALTER TABLE t MODIFY COLUMN b BIGINT AS (a + c) VIRTUAL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "b" INTEGER GENERATED ALWAYS AS (("a" + "c")) VIRTUAL, "c" INTEGER, "s" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "c", "s") SELECT "id", "a", "c", "s" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "b"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bigint GENERATED ALWAYS AS ((("a"::numeric + "c"::numeric))::bigint) STORED
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `b` bigint GENERATED ALWAYS AS ((`a` + `c`)) VIRTUAL
-- then: 1 5 12 7 x | 2 None None 8 y

-- case: a virtual column gets an expression that is not computed
ALTER TABLE t MODIFY COLUMN b BIGINT AS (FLOOR(SQRT(a))) VIRTUAL
-- sqlite: ALTER TABLE "t" DROP COLUMN "b"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "b"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `b`
-- then: 1 5 7 x | 2 None 8 y

-- case: a virtual column becomes a plain one
ALTER TABLE t MODIFY COLUMN b BIGINT
-- stops: column b: the values of a virtual column are not sent

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b BIGINT AS (a + 1) VIRTUAL)
-- rows:

-- case: a virtual column becomes a plain one in an empty table
ALTER TABLE t MODIFY COLUMN b BIGINT
-- stops: column b: the values of a virtual column are not sent

-- case: a plain column becomes a virtual one in an empty table
ALTER TABLE t MODIFY COLUMN a BIGINT AS (id + 1)
-- stops: column a: the values of a virtual column are not sent

-- table: CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, b INT AS (a + 1) VIRTUAL, c BIGINT AS (b * 2))
-- rows: 1, 5 | 2, NULL

-- case: a virtual column over others
ALTER TABLE t ADD COLUMN d VARCHAR(80) AS (CONCAT(b, '/', c))
-- sqlite: ALTER TABLE "t" ADD COLUMN "d" TEXT GENERATED ALWAYS AS ((CAST("b" AS TEXT) || '/' || CAST("c" AS TEXT))) VIRTUAL
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `d` varchar(80) character set utf8mb4 collate utf8mb4_bin GENERATED ALWAYS AS (CONCAT(`b`, '/', `c`)) VIRTUAL
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "d" text GENERATED ALWAYS AS ((((("a"::numeric + 1::numeric))::integer)::numeric::text || '/'::text || (((((("a"::numeric + 1::numeric))::integer)::numeric * 2::numeric))::bigint)::numeric::text)) STORED
-- then: 1 5 6 12 6/12 | 2 None None None None

-- case: a virtual column that reads another goes
ALTER TABLE t DROP COLUMN c
-- sqlite: ALTER TABLE "t" DROP COLUMN "c"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "c"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `c`
-- then: 1 5 6 | 2 None None
