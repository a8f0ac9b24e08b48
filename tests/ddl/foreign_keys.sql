-- table: CREATE TABLE t (id INT PRIMARY KEY, pid INT, code VARCHAR(5))
-- rows: 1, 10, 'a' | 2, NULL, NULL
-- other: CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL, code VARCHAR(5), UNIQUE KEY uc (code), KEY kn (n))
-- other-rows: 10, 7, 'a' | 11, 7, 'b'

-- case: a foreign key acts on nothing, since its effects are sent
ALTER TABLE t ADD CONSTRAINT fk1 FOREIGN KEY (pid) REFERENCES p(id) ON DELETE CASCADE ON UPDATE SET NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "pid" INTEGER, "code" TEXT, PRIMARY KEY ("id"), FOREIGN KEY ("pid") REFERENCES "p" ("id") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "pid", "code") SELECT "id", "pid", "code" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_fk1_86b511bb" ON "t" ("pid")
-- postgresql: CREATE INDEX "t_fk1_86b511bb" ON "s"."t" ("pid")
-- postgresql: ALTER TABLE "s"."t" ADD CONSTRAINT "t_fk1_86b511bb" FOREIGN KEY ("pid") REFERENCES "s"."p" ("id") DEFERRABLE INITIALLY DEFERRED
-- mysql: ALTER TABLE `s`.`t` ADD KEY `fk1` (`pid`)
-- mysql: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`pid`) REFERENCES `s`.`p` (`id`)

-- case: a foreign key without a name
ALTER TABLE `t` ADD FOREIGN KEY (`pid`) REFERENCES `s`.`p`(`id`)
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "pid" INTEGER, "code" TEXT, PRIMARY KEY ("id"), FOREIGN KEY ("pid") REFERENCES "p" ("id") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "pid", "code") SELECT "id", "pid", "code" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_fk_1_91a48db2" ON "t" ("pid")
-- postgresql: CREATE INDEX "t_fk_1_91a48db2" ON "s"."t" ("pid")
-- postgresql: ALTER TABLE "s"."t" ADD CONSTRAINT "t_fk_1_91a48db2" FOREIGN KEY ("pid") REFERENCES "s"."p" ("id") DEFERRABLE INITIALLY DEFERRED
-- mysql: ALTER TABLE `s`.`t` ADD KEY `fk_1` (`pid`)
-- mysql: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`pid`) REFERENCES `s`.`p` (`id`)

-- case: a foreign key to a unique key
ALTER TABLE t ADD CONSTRAINT fk2 FOREIGN KEY ix2 (code) REFERENCES p (code) MATCH FULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "pid" INTEGER, "code" TEXT, PRIMARY KEY ("id"), FOREIGN KEY ("code") REFERENCES "p" ("code") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "pid", "code") SELECT "id", "pid", "code" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_fk2_9fd9ae36" ON "t" ("code")
-- postgresql: CREATE INDEX "t_fk2_9fd9ae36" ON "s"."t" ("code")
-- postgresql: ALTER TABLE "s"."t" ADD CONSTRAINT "t_fk2_9fd9ae36" FOREIGN KEY ("code") REFERENCES "s"."p" ("code") DEFERRABLE INITIALLY DEFERRED
-- mysql: ALTER TABLE `s`.`t` ADD KEY `fk2` (`code`)
-- mysql: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`code`) REFERENCES `s`.`p` (`code`)

-- case: a foreign key to what is not unique is left out, its index is not
ALTER TABLE t ADD CONSTRAINT fk3 FOREIGN KEY (pid) REFERENCES p(n)
-- sqlite: CREATE INDEX "t_fk3_5cee027e" ON "t" ("pid")
-- postgresql: CREATE INDEX "t_fk3_5cee027e" ON "s"."t" ("pid")
-- mysql: ALTER TABLE `s`.`t` ADD KEY `fk3` (`pid`)

-- case: a foreign key to a table that is not known
ALTER TABLE t ADD CONSTRAINT fk4 FOREIGN KEY (pid) REFERENCES nowhere(id)
-- sqlite: CREATE INDEX "t_fk4_389a9054" ON "t" ("pid")
-- postgresql: CREATE INDEX "t_fk4_389a9054" ON "s"."t" ("pid")
-- mysql: ALTER TABLE `s`.`t` ADD KEY `fk4` (`pid`)

-- case: a foreign key of a column that is not there
ALTER TABLE t ADD CONSTRAINT fk5 FOREIGN KEY (nowhere) REFERENCES p(id)
-- stops: foreign key on an unknown column 'nowhere'

-- case: a foreign key to the table itself
ALTER TABLE t ADD COLUMN up INT, ADD CONSTRAINT own FOREIGN KEY (up) REFERENCES t (id)
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "pid" INTEGER, "code" TEXT, "up" INTEGER, PRIMARY KEY ("id"), FOREIGN KEY ("up") REFERENCES "t" ("id") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "pid", "code", "up") SELECT "id", "pid", "code", NULL FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_own_83030d46" ON "t" ("up")
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "up" integer
-- postgresql: CREATE INDEX "t_own_83030d46" ON "s"."t" ("up")
-- postgresql: ALTER TABLE "s"."t" ADD CONSTRAINT "t_own_83030d46" FOREIGN KEY ("up") REFERENCES "s"."t" ("id") DEFERRABLE INITIALLY DEFERRED
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `up` int NULL, ADD KEY `own` (`up`)
-- mysql: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`up`) REFERENCES `s`.`t` (`id`)
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `up` int NULL
-- tidb: ALTER TABLE `s`.`t` ADD KEY `own` (`up`)
-- tidb: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`up`) REFERENCES `s`.`t` (`id`)

-- table: CREATE TABLE t (id INT PRIMARY KEY, pid INT, v INT, CONSTRAINT fk1 FOREIGN KEY (pid) REFERENCES p(id))
-- rows: 1, 10, 11 | 2, NULL, 11
-- other: CREATE TABLE p (id INT PRIMARY KEY, n INT)
-- other-rows: 10, 7 | 11, 7

-- case: a foreign key goes, its index stays
ALTER TABLE t DROP FOREIGN KEY fk1
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "pid" INTEGER, "v" INTEGER, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "pid", "v") SELECT "id", "pid", "v" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_fk1_86b511bb" ON "t" ("pid")
-- postgresql: ALTER TABLE "s"."t" DROP CONSTRAINT "t_fk1_86b511bb"
-- mysql: ALTER TABLE `s`.`t` DROP FOREIGN KEY `t_ibfk_1`
-- tidb: ALTER TABLE `s`.`t` DROP FOREIGN KEY `fk_1`

-- case: a foreign key that is not there goes
ALTER TABLE t DROP FOREIGN KEY nowhere

-- case: a foreign key is replaced
ALTER TABLE t DROP FOREIGN KEY fk1, ADD CONSTRAINT fk9 FOREIGN KEY (v) REFERENCES p(id)
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "pid" INTEGER, "v" INTEGER, PRIMARY KEY ("id"), FOREIGN KEY ("v") REFERENCES "p" ("id") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "pid", "v") SELECT "id", "pid", "v" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_fk1_86b511bb" ON "t" ("pid")
-- sqlite: CREATE INDEX "t_fk9_ada39114" ON "t" ("v")
-- postgresql: ALTER TABLE "s"."t" DROP CONSTRAINT "t_fk1_86b511bb"
-- postgresql: CREATE INDEX "t_fk9_ada39114" ON "s"."t" ("v")
-- postgresql: ALTER TABLE "s"."t" ADD CONSTRAINT "t_fk9_ada39114" FOREIGN KEY ("v") REFERENCES "s"."p" ("id") DEFERRABLE INITIALLY DEFERRED
-- mysql: ALTER TABLE `s`.`t` DROP FOREIGN KEY `t_ibfk_1`
-- mysql: ALTER TABLE `s`.`t` ADD KEY `fk9` (`v`)
-- mysql: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`v`) REFERENCES `s`.`p` (`id`)
-- tidb: ALTER TABLE `s`.`t` DROP FOREIGN KEY `fk_1`
-- tidb: ALTER TABLE `s`.`t` ADD KEY `fk9` (`v`)
-- tidb: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`v`) REFERENCES `s`.`p` (`id`)

-- case: a table with a foreign key is rebuilt
ALTER TABLE t CHANGE COLUMN pid `parent id` INT DEFAULT 10
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "parent id" INTEGER DEFAULT '10', "v" INTEGER, PRIMARY KEY ("id"), FOREIGN KEY ("parent id") REFERENCES "p" ("id") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "parent id", "v") SELECT "id", "pid", "v" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_fk1_86b511bb" ON "t" ("parent id")
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "pid" TO "parent id"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "parent id" SET DEFAULT '10'
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `pid` `parent id` int NULL DEFAULT '10'

-- case: a table that a foreign key refers to goes
DROP TABLE p
-- sqlite: DROP TABLE IF EXISTS "p"
-- postgresql: ALTER TABLE IF EXISTS "s"."t" DROP CONSTRAINT IF EXISTS "t_fk1_86b511bb"
-- postgresql: DROP TABLE IF EXISTS "s"."p"
-- mysql: DROP TABLE IF EXISTS `s`.`p`

-- case: a table that a foreign key refers to is renamed
RENAME TABLE p TO t2
-- sqlite: ALTER TABLE "p" RENAME TO "t2"
-- postgresql: ALTER TABLE "s"."p" RENAME TO "t2"
-- mysql: RENAME TABLE `s`.`p` TO `s`.`t2`

-- case: a column that a foreign key refers to is renamed
ALTER TABLE p CHANGE COLUMN id `key` INT NOT NULL
-- sqlite: ALTER TABLE "p" RENAME COLUMN "id" TO "key"
-- postgresql: ALTER TABLE "s"."p" RENAME COLUMN "id" TO "key"
-- mysql: ALTER TABLE `s`.`p` CHANGE COLUMN `id` `key` int NOT NULL

-- case: a table with a foreign key goes
DROP TABLE t
-- sqlite: DROP TABLE IF EXISTS "t"
-- postgresql: DROP TABLE IF EXISTS "s"."t"
-- mysql: DROP TABLE IF EXISTS `s`.`t`

-- case: a table with a foreign key is copied without it
CREATE TABLE t2 LIKE t
-- sqlite: CREATE TABLE "t2" ("id" INTEGER NOT NULL, "pid" INTEGER, "v" INTEGER, PRIMARY KEY ("id"))
-- sqlite: CREATE INDEX "t2_fk1_1fb6a098" ON "t2" ("pid")
-- postgresql: CREATE TABLE "s"."t2" ("id" integer NOT NULL, "pid" integer, "v" integer, PRIMARY KEY ("id"))
-- postgresql: CREATE INDEX "t2_fk1_1fb6a098" ON "s"."t2" ("pid")
-- mysql: CREATE TABLE `s`.`t2` (   `id` int NOT NULL,   `pid` int NULL,   `v` int NULL,   PRIMARY KEY (`id`),   KEY `fk1` (`pid`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- case: a new table with two foreign keys
CREATE TABLE t2 (a INT PRIMARY KEY, b INT, CONSTRAINT x FOREIGN KEY (a) REFERENCES p (id), FOREIGN KEY (b) REFERENCES s.t (id) ON DELETE SET NULL)
-- sqlite: CREATE TABLE "t2" ("a" INTEGER NOT NULL, "b" INTEGER, PRIMARY KEY ("a"), FOREIGN KEY ("a") REFERENCES "p" ("id") DEFERRABLE INITIALLY DEFERRED, FOREIGN KEY ("b") REFERENCES "t" ("id") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: CREATE INDEX "t2_fk_2_61ebf622" ON "t2" ("b")
-- postgresql: CREATE TABLE "s"."t2" ("a" integer NOT NULL, "b" integer, PRIMARY KEY ("a"))
-- postgresql: CREATE INDEX "t2_fk_2_61ebf622" ON "s"."t2" ("b")
-- postgresql: ALTER TABLE "s"."t2" ADD CONSTRAINT "t2_x_39600d49" FOREIGN KEY ("a") REFERENCES "s"."p" ("id") DEFERRABLE INITIALLY DEFERRED
-- postgresql: ALTER TABLE "s"."t2" ADD CONSTRAINT "t2_fk_2_61ebf622" FOREIGN KEY ("b") REFERENCES "s"."t" ("id") DEFERRABLE INITIALLY DEFERRED
-- mysql: CREATE TABLE `s`.`t2` (   `a` int NOT NULL,   `b` int NULL,   PRIMARY KEY (`a`),   KEY `fk_2` (`b`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
-- mysql: ALTER TABLE `s`.`t2` ADD FOREIGN KEY (`a`) REFERENCES `s`.`p` (`id`)
-- mysql: ALTER TABLE `s`.`t2` ADD FOREIGN KEY (`b`) REFERENCES `s`.`t` (`id`)

-- table: CREATE TABLE t (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES x (id))
-- rows:

-- case: the parent is created after its child
CREATE TABLE x (id INT PRIMARY KEY)
-- sqlite: CREATE TABLE "x" ("id" INTEGER NOT NULL, PRIMARY KEY ("id"))
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "pid" INTEGER, PRIMARY KEY ("id"), FOREIGN KEY ("pid") REFERENCES "x" ("id") DEFERRABLE INITIALLY DEFERRED)
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "pid") SELECT "id", "pid" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE INDEX "t_fk_1_91a48db2" ON "t" ("pid")
-- postgresql: CREATE TABLE "s"."x" ("id" integer NOT NULL, PRIMARY KEY ("id"))
-- postgresql: ALTER TABLE "s"."t" ADD CONSTRAINT "t_fk_1_91a48db2" FOREIGN KEY ("pid") REFERENCES "s"."x" ("id") DEFERRABLE INITIALLY DEFERRED
-- mysql: CREATE TABLE `s`.`x` (   `id` int NOT NULL,   PRIMARY KEY (`id`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
-- mysql: ALTER TABLE `s`.`t` ADD FOREIGN KEY (`pid`) REFERENCES `s`.`x` (`id`)

-- table: CREATE TABLE t (id INT PRIMARY KEY, pid INT, CONSTRAINT fk1 FOREIGN KEY (pid) REFERENCES p(id))
-- rows: 1, NULL
-- other: CREATE TABLE p (id INT PRIMARY KEY, n INT)
-- other-rows: 10, 7 | 11, 7

-- case: a table that a foreign key refers to is emptied
TRUNCATE TABLE p
-- sqlite: DELETE FROM "p"
-- postgresql: DELETE FROM "s"."p"
-- mysql: TRUNCATE TABLE `s`.`p`
-- then-other:
