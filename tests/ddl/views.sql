-- table: CREATE TABLE t (id INT PRIMARY KEY, `odd "name"` INT, s VARCHAR(20), u BIGINT UNSIGNED, g INT AS (id + 1) VIRTUAL)
-- rows: 1, 2, 'a', 3

-- case: a view of some columns
CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `v` AS SELECT `id`,`s` FROM `t` WHERE `id`>0
-- sqlite: CREATE VIEW "v" ("id", "s") AS SELECT "id", "s" FROM "t" WHERE "id" > 0
-- postgresql: CREATE VIEW "s"."v" ("id", "s") AS SELECT "id", "s" FROM "s"."t" WHERE "id" > 0
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`, `s`) AS SELECT `t`.`id`, `t`.`s` FROM `s`.`t` AS `t` WHERE `t`.`id` > 0

-- case: a view with names of its own
CREATE OR REPLACE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `v` (`x`, `y"; DROP TABLE t; --`) AS SELECT `id`, `odd "name"` FROM `s`.`t`
-- sqlite: CREATE VIEW "v" ("x", "y""; DROP TABLE t; --") AS SELECT "id", "odd ""name""" FROM "t"
-- postgresql: CREATE VIEW "s"."v" ("x", "y""; DROP TABLE t; --") AS SELECT "id", "odd ""name""" FROM "s"."t"
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`x`, `y"; DROP TABLE t; --`) AS SELECT `t`.`id`, `t`.`odd "name"` FROM `s`.`t` AS `t`

-- case: a view with a condition
CREATE VIEW v AS SELECT a.id AS i FROM t AS a WHERE NOT (a.id IN (1, -2) OR `odd "name"` IS NULL) AND (id <> 3 OR s IS NOT NULL)
-- sqlite: CREATE VIEW "v" ("i") AS SELECT "id" FROM "t" WHERE (NOT (("id" IN (1, -2) OR "odd ""name""" IS NULL)) AND ("id" <> 3 OR NOT ("s" IS NULL)))
-- postgresql: CREATE VIEW "s"."v" ("i") AS SELECT "id" FROM "s"."t" WHERE (NOT (("id" IN (1, -2) OR "odd ""name""" IS NULL)) AND ("id" <> 3 OR NOT ("s" IS NULL)))
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`i`) AS SELECT `a`.`id` FROM `s`.`t` AS `a` WHERE (NOT ((`a`.`id` IN (1, -2)) OR (`a`.`odd "name"` IS NULL))) AND ((`a`.`id` <> 3) OR (NOT (`a`.`s` IS NULL)))

-- case: a view that compares text
CREATE VIEW v AS SELECT id FROM t WHERE s = 'a'
-- stops: CREATE VIEW is not translated: it is not certain how `t`.`s` (plain) compares with 'a' (string)
-- stops.sqlite: it is not certain how "t"."s" (plain) compares with 'a' (string)
-- stops.postgresql: it is not certain how "t"."s" (plain) compares with 'a' (string)

-- case: a view of whatever columns there are
CREATE VIEW v AS SELECT * FROM t
-- sqlite: CREATE VIEW "v" ("id", "odd ""name""", "s", "u", "g") AS SELECT "id", "odd ""name""", "s", "u", "g" FROM "t"
-- postgresql: CREATE VIEW "s"."v" ("id", "odd ""name""", "s", "u", "g") AS SELECT "id", "odd ""name""", "s", "u", "g" FROM "s"."t"
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`, `odd "name"`, `s`, `u`, `g`) AS SELECT `t`.`id`, `t`.`odd "name"`, `t`.`s`, `t`.`u`, `t`.`g` FROM `s`.`t` AS `t`

-- case: a view of a table's columns and others
CREATE VIEW v AS SELECT t.*, 1 FROM t
-- stops: 1 has no name, and TiDB's name for it is not certain

-- case: a view of an expression
CREATE VIEW v AS SELECT id + 1 FROM t
-- stops: `t`.`id` + 1 has no name, and TiDB's name for it is not certain
-- stops.sqlite: "t"."id" + 1 has no name, and TiDB's name for it is not certain
-- stops.postgresql: "t"."id"::numeric + 1::numeric has no name, and TiDB's name for it is not certain

-- case: a view of a virtual column
CREATE VIEW v AS SELECT g FROM t WHERE g > 1
-- sqlite: CREATE VIEW "v" ("g") AS SELECT "g" FROM "t" WHERE "g" > 1
-- postgresql: CREATE VIEW "s"."v" ("g") AS SELECT "g" FROM "s"."t" WHERE "g" > 1
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`g`) AS SELECT `t`.`g` FROM `s`.`t` AS `t` WHERE `t`.`g` > 1

-- case: a view of a column that is not there
CREATE VIEW v AS SELECT nowhere FROM t
-- stops: no column nowhere

-- case: a view of two tables
CREATE VIEW v AS SELECT a.id FROM t AS a JOIN t AS b ON a.id = b.id
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`) AS SELECT `a`.`id` FROM `s`.`t` AS `a` JOIN `s`.`t` AS `b` ON `a`.`id` = `b`.`id`
-- sqlite: CREATE VIEW "v" ("id") AS SELECT "a"."id" FROM "t" AS "a" JOIN "t" AS "b" ON "a"."id" = "b"."id"
-- postgresql: CREATE VIEW "s"."v" ("id") AS SELECT "a"."id" FROM "s"."t" AS "a" JOIN "s"."t" AS "b" ON "a"."id" = "b"."id"

-- case: a view of a query
CREATE VIEW v AS SELECT id FROM (SELECT id FROM t) AS q
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`) AS SELECT `q`.`id` FROM (SELECT `t`.`id` AS `id` FROM `s`.`t` AS `t`) AS `q`
-- sqlite: CREATE VIEW "v" ("id") AS SELECT "q"."id" FROM (SELECT "t"."id" AS "id" FROM "t" AS "t") AS "q"
-- postgresql: CREATE VIEW "s"."v" ("id") AS SELECT "q"."id" FROM (SELECT "t"."id" AS "id" FROM "s"."t" AS "t") AS "q"

-- case: a view of a part of a table
CREATE VIEW v AS SELECT id FROM t PARTITION (p0)
-- stops: CREATE VIEW is not translated

-- case: a view with a query in its condition
CREATE VIEW v AS SELECT id FROM t WHERE id IN (SELECT id FROM t)
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`) AS SELECT `t`.`id` FROM `s`.`t` AS `t` WHERE `t`.`id` IN (SELECT `t`.`id` FROM `s`.`t` AS `t`)
-- sqlite: CREATE VIEW "v" ("id") AS SELECT "t"."id" FROM "t" AS "t" WHERE "t"."id" IN (SELECT "t"."id" FROM "t" AS "t")
-- postgresql: CREATE VIEW "s"."v" ("id") AS SELECT "t"."id" FROM "s"."t" AS "t" WHERE "t"."id" IN (SELECT "t"."id" FROM "s"."t" AS "t")

-- case: a view without doubles
CREATE VIEW v AS SELECT DISTINCT id FROM t
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`) AS SELECT DISTINCT `t`.`id` FROM `s`.`t` AS `t`
-- sqlite: CREATE VIEW "v" ("id") AS SELECT "t"."id" FROM "t" AS "t" GROUP BY "t"."id"
-- postgresql: CREATE VIEW "s"."v" ("id") AS SELECT "t"."id" FROM "s"."t" AS "t" GROUP BY "t"."id"

-- case: a view of several queries
CREATE VIEW v AS SELECT id FROM t UNION SELECT id FROM t
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`) AS SELECT `t`.`id` FROM `s`.`t` AS `t` UNION SELECT `t`.`id` FROM `s`.`t` AS `t`
-- sqlite: CREATE VIEW "v" ("id") AS SELECT "t"."id" FROM "t" AS "t" UNION SELECT "t"."id" FROM "t" AS "t"
-- postgresql: CREATE VIEW "s"."v" ("id") AS SELECT "t"."id" FROM "s"."t" AS "t" UNION SELECT "t"."id" FROM "s"."t" AS "t"

-- case: a view with an order
CREATE VIEW v AS SELECT id FROM t ORDER BY id LIMIT 1
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`) AS SELECT `t`.`id` FROM `s`.`t` AS `t` ORDER BY `t`.`id` LIMIT 1
-- sqlite: CREATE VIEW "v" ("id") AS SELECT "t"."id" FROM "t" AS "t" ORDER BY "t"."id" LIMIT 1
-- postgresql: CREATE VIEW "s"."v" ("id") AS SELECT "t"."id" FROM "s"."t" AS "t" ORDER BY "t"."id" NULLS FIRST LIMIT 1

-- case: a view with groups
CREATE VIEW v AS SELECT id FROM t GROUP BY id
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`) AS SELECT `t`.`id` FROM `s`.`t` AS `t` GROUP BY `t`.`id`
-- sqlite: CREATE VIEW "v" ("id") AS SELECT "t"."id" FROM "t" AS "t" GROUP BY "t"."id"
-- postgresql: CREATE VIEW "s"."v" ("id") AS SELECT "t"."id" FROM "s"."t" AS "t" GROUP BY "t"."id"

-- case: a view of a table that is not known
CREATE VIEW v AS SELECT id FROM nowhere
-- stops: the definition of s.nowhere did not come

-- case: a view of a table in a database that is not said
CREATE VIEW s.v AS SELECT id FROM t
-- stops: it does not name the database of t, and that of the session is not sent (s has it)

-- case: a view of a table that no known database has
CREATE VIEW s.v AS SELECT id FROM nowhere
-- stops: it does not name the database of nowhere, and that of the session is not sent (no database that is known has it)

-- case: a view of somebody else
CREATE ALGORITHM = MERGE DEFINER = `root`@`%` SQL SECURITY DEFINER VIEW `v` AS SELECT id FROM t
-- stops: it has a definer

-- case: a view with more names than columns
CREATE VIEW v (a, b) AS SELECT id FROM t
-- stops: it names another number of columns

-- case: a view over a function
CREATE VIEW v AS SELECT id FROM t WHERE LOAD_FILE('/etc/passwd') IS NULL
-- stops: LOAD_FILE('/etc/passwd') is not certain to mean the same here

-- case: a view that checks what is written
CREATE VIEW v AS SELECT id FROM t WHERE id > 0 WITH CHECK OPTION
-- stops: CREATE VIEW is not translated

-- case: a view goes
DROP VIEW `s`.`v`
-- sqlite: DROP VIEW IF EXISTS "v"
-- postgresql: DROP VIEW IF EXISTS "s"."v"
-- mysql: DROP VIEW IF EXISTS `s`.`v`

-- case: two views go
DROP VIEW v, w
-- stops: DROP VIEW is not translated

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)
-- rows: 1, 2, 3
-- view: CREATE VIEW v AS SELECT id, a FROM t WHERE a > 0

-- case: a view of whatever columns there are, with a condition
CREATE OR REPLACE VIEW v AS SELECT * FROM t WHERE b > 2
-- sqlite: DROP VIEW "v"
-- sqlite: CREATE VIEW "v" ("id", "a", "b") AS SELECT "id", "a", "b" FROM "t" WHERE "b" > 2
-- postgresql: DROP VIEW "s"."v"
-- postgresql: CREATE VIEW "s"."v" ("id", "a", "b") AS SELECT "id", "a", "b" FROM "s"."t" WHERE "b" > 2
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`id`, `a`, `b`) AS SELECT `t`.`id`, `t`.`a`, `t`.`b` FROM `s`.`t` AS `t` WHERE `t`.`b` > 2

-- case: a table with a view gets a column
ALTER TABLE t ADD COLUMN c INT
-- sqlite: DROP VIEW IF EXISTS "v"
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" INTEGER
-- sqlite: CREATE VIEW "v" ("id", "a") AS SELECT "id", "a" FROM "t" WHERE "a" > 0
-- postgresql: DROP VIEW IF EXISTS "s"."v"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" integer
-- postgresql: CREATE VIEW "s"."v" ("id", "a") AS SELECT "id", "a" FROM "s"."t" WHERE "a" > 0
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` int NULL

-- case: a table with a view gets another type
ALTER TABLE t MODIFY COLUMN a BIGINT NOT NULL
-- sqlite: DROP VIEW IF EXISTS "v"
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER NOT NULL, "b" INTEGER, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "b") SELECT "id", "a", "b" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE VIEW "v" ("id", "a") AS SELECT "id", "a" FROM "t" WHERE "a" > 0
-- postgresql: DROP VIEW IF EXISTS "s"."v"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" TYPE bigint USING "a"::bigint
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" SET NOT NULL
-- postgresql: CREATE VIEW "s"."v" ("id", "a") AS SELECT "id", "a" FROM "s"."t" WHERE "a" > 0
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `a` bigint NOT NULL

-- case: a table loses a column of its view
ALTER TABLE t DROP COLUMN a
-- sqlite: DROP VIEW IF EXISTS "v"
-- sqlite: ALTER TABLE "t" DROP COLUMN "a"
-- postgresql: DROP VIEW IF EXISTS "s"."v"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "a"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `a`

-- case: a table with a view is emptied
TRUNCATE TABLE t
-- sqlite: DELETE FROM "t"
-- postgresql: TRUNCATE TABLE "s"."t"
-- mysql: TRUNCATE TABLE `s`.`t`
-- then:

-- case: a table with a view goes
DROP TABLE t
-- sqlite: DROP VIEW IF EXISTS "v"
-- sqlite: DROP TABLE IF EXISTS "t"
-- postgresql: DROP VIEW IF EXISTS "s"."v"
-- postgresql: DROP TABLE IF EXISTS "s"."t"
-- mysql: DROP TABLE IF EXISTS `s`.`t`

-- case: a table goes away from its view
RENAME TABLE t TO t2
-- sqlite: DROP VIEW IF EXISTS "v"
-- sqlite: ALTER TABLE "t" RENAME TO "t2"
-- postgresql: DROP VIEW IF EXISTS "s"."v"
-- postgresql: ALTER TABLE "s"."t" RENAME TO "t2"
-- mysql: RENAME TABLE `s`.`t` TO `s`.`t2`

-- case: a view is replaced
CREATE OR REPLACE VIEW v AS SELECT b FROM t
-- sqlite: DROP VIEW "v"
-- sqlite: CREATE VIEW "v" ("b") AS SELECT "b" FROM "t"
-- postgresql: DROP VIEW "s"."v"
-- postgresql: CREATE VIEW "s"."v" ("b") AS SELECT "b" FROM "s"."t"
-- mysql: CREATE OR REPLACE SQL SECURITY INVOKER VIEW `s`.`v` (`b`) AS SELECT `t`.`b` FROM `s`.`t` AS `t`

-- case: a view that is there
CREATE VIEW v AS SELECT b FROM t
-- stops: there is a view

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, d DOUBLE AS (SQRT(a)), g INT AS (a + 1) VIRTUAL)
-- rows: 1, 2

-- case: a view of a virtual column that no target computes
CREATE VIEW v AS SELECT id, d FROM t
-- stops: column d is virtual, and not in the target

-- case: a view of whatever columns there are, one of which the target lacks
CREATE VIEW v AS SELECT * FROM t
-- stops: column d is virtual, and not in the target

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, g BIGINT AS (a + 1) VIRTUAL)
-- rows: 1, 2
-- view: CREATE VIEW v AS SELECT id, g FROM t WHERE g > 1

-- case: a virtual column of a view is computed otherwise
ALTER TABLE t MODIFY COLUMN g BIGINT AS (a + 2) VIRTUAL
-- sqlite: DROP VIEW IF EXISTS "v"
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "g" INTEGER GENERATED ALWAYS AS (("a" + 2)) VIRTUAL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a") SELECT "id", "a" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE VIEW "v" ("id", "g") AS SELECT "id", "g" FROM "t" WHERE "g" > 1
-- postgresql: DROP VIEW IF EXISTS "s"."v"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "g"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "g" bigint GENERATED ALWAYS AS ((("a"::numeric + 2::numeric))::bigint) STORED
-- postgresql: CREATE VIEW "s"."v" ("id", "g") AS SELECT "id", "g" FROM "s"."t" WHERE "g" > 1
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `g` bigint GENERATED ALWAYS AS ((`a` + 2)) VIRTUAL
-- then: 1 2 4

-- case: a virtual column of a view is no longer computed
ALTER TABLE t MODIFY COLUMN g BIGINT AS (FLOOR(SQRT(a))) VIRTUAL
-- stops: may differ from the upstream's after this DDL: drop it first
-- stops.sqlite: is in the way, and could not be created again after it
-- stops.postgresql: is in the way, and could not be created again after it

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT)
-- rows: 1, 2
-- view: CREATE VIEW v AS SELECT id FROM t WHERE a > 0

-- case: a column of a view becomes one that is compared otherwise
ALTER TABLE t MODIFY COLUMN a VARCHAR(20)
-- stops: may differ from the upstream's after this DDL: drop it first
-- stops.sqlite: is in the way, and could not be created again after it
-- stops.postgresql: is in the way, and could not be created again after it
