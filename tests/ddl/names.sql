-- table: CREATE TABLE t (id INT PRIMARY KEY, v INT)
-- rows: 1, 2

-- case: a column with a double quote
ALTER TABLE t ADD COLUMN `a"b` INT
-- sqlite: ALTER TABLE "t" ADD COLUMN "a""b" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a""b" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `a"b` int NULL

-- case: a column with a backquote
ALTER TABLE t ADD COLUMN `a``b` INT DEFAULT 1
-- sqlite: ALTER TABLE "t" ADD COLUMN "a`b" INTEGER DEFAULT '1'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a`b" integer DEFAULT '1'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `a``b` int NULL DEFAULT '1'

-- case: a column with a semicolon
ALTER TABLE t CHANGE COLUMN v `a; DROP TABLE t` INT
-- sqlite: ALTER TABLE "t" RENAME COLUMN "v" TO "a; DROP TABLE t"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "v" TO "a; DROP TABLE t"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `v` `a; DROP TABLE t` int NULL

-- case: a column with a percent sign
ALTER TABLE t RENAME COLUMN v TO `100 %s %% :x {y}`
-- sqlite: ALTER TABLE "t" RENAME COLUMN "v" TO "100 %s %% :x {y}"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "v" TO "100 %s %% :x {y}"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `v` `100 %s %% :x {y}` int NULL

-- case: a column with a quote and a backslash
ALTER TABLE t ADD COLUMN `it's \ here` INT
-- sqlite: ALTER TABLE "t" ADD COLUMN "it's \ here" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "it's \ here" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `it's \ here` int NULL

-- case: a column of a keyword
ALTER TABLE t ADD COLUMN `select` INT, ADD KEY `order` (`select`)
-- sqlite: ALTER TABLE "t" ADD COLUMN "select" INTEGER
-- sqlite: CREATE INDEX "t_order_606212ef" ON "t" ("select")
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "select" integer
-- postgresql: CREATE INDEX "t_order_606212ef" ON "s"."t" ("select")
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `select` int NULL, ADD KEY `order` (`select`)
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `select` int NULL
-- tidb: ALTER TABLE `s`.`t` ADD KEY `order` (`select`)

-- case: a column in another script
ALTER TABLE t ADD COLUMN `键-Ü` INT FIRST
-- sqlite: ALTER TABLE "t" ADD COLUMN "键-Ü" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "键-Ü" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `键-Ü` int NULL FIRST

-- case: a column with a face
ALTER TABLE t ADD COLUMN `a 😀` INT
-- sqlite: ALTER TABLE "t" ADD COLUMN "a 😀" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a 😀" integer
-- stops.mysql: holds a character beyond U+FFFF
-- stops.mariadb: holds a character beyond U+FFFF
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `a 😀` int NULL

-- case: a column of 64 letters
ALTER TABLE t ADD COLUMN `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` INT
-- sqlite: ALTER TABLE "t" ADD COLUMN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" INTEGER
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` int NULL
-- stops.postgresql: is longer than PostgreSQL's 63 bytes

-- case: an index of 64 letters
ALTER TABLE t ADD INDEX `iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii` (v)
-- sqlite: CREATE INDEX "t_iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii_5943fb09" ON "t" ("v")
-- postgresql: CREATE INDEX "t_iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii_5943fb09" ON "s"."t" ("v")
-- mysql: ALTER TABLE `s`.`t` ADD KEY `iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii` (`v`)

-- case: a comment with everything in it
ALTER TABLE t ADD COLUMN c INT COMMENT 'a ''quote'', a "double"; -- no comment /* nor */ # this \\ 100%'
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` int NULL

-- case: comments between the words
ALTER /* a; b */ TABLE /**/ t ADD COLUMN /* '`" */ c INT # the end
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` int NULL

-- case: executable comments
ALTER TABLE t /*!50100 ADD COLUMN c INT */ /*T![auto_rand] , ADD COLUMN d INT */ /*+ no hint */
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" INTEGER
-- sqlite: ALTER TABLE "t" ADD COLUMN "d" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" integer
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "d" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` int NULL, ADD COLUMN `d` int NULL

-- case: a default with quotes and a backslash
ALTER TABLE t ADD COLUMN c VARCHAR(40) DEFAULT 'it''s "x"; \\ -- %s'
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" TEXT DEFAULT 'it''s "x"; \ -- %s'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" text DEFAULT 'it''s "x"; \ -- %s'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` varchar(40) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'it''s "x"; \ -- %s'

-- case: a default in another script
ALTER TABLE t ADD COLUMN c VARCHAR(40) DEFAULT _UTF8MB4'名前 😀'
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" TEXT DEFAULT '名前 😀'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" text DEFAULT '名前 😀'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `c` varchar(40) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT '名前 😀'

-- case: a table of an odd name
CREATE TABLE `t"; DROP TABLE t; --` (`a``"b` INT PRIMARY KEY)
-- sqlite: CREATE TABLE "t""; DROP TABLE t; --" ("a`""b" INTEGER NOT NULL, PRIMARY KEY ("a`""b"))
-- postgresql: CREATE TABLE "s"."t""; DROP TABLE t; --" ("a`""b" integer NOT NULL, PRIMARY KEY ("a`""b"))
-- mysql: CREATE TABLE `s`.`t"; DROP TABLE t; --` (   `a``"b` int NOT NULL,   PRIMARY KEY (`a``"b`) ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- case: a name of a kept table
RENAME TABLE t TO ticdc_dropped_1_1
-- stops: is the consumer's own

-- case: a role
CREATE ROLE r
-- stops: CREATE ROLE is not translated

-- case: a user goes
DROP USER u
-- stops: DROP USER is not translated

-- case: a password
SET PASSWORD FOR u = 'x'
-- stops: SET PASSWORD is not translated

-- case: a privilege goes
REVOKE ALL ON *.* FROM u
-- stops: REVOKE ALL is not translated

-- case: a procedure
CREATE PROCEDURE p() DROP TABLE t
-- stops: CREATE PROCEDURE is not translated

-- case: a trigger of a definer
CREATE DEFINER = root@localhost TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 1
-- stops: CREATE DEFINER is not translated

-- case: an event
CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DROP TABLE t
-- stops: CREATE EVENT is not translated

-- case: a plugin
INSTALL PLUGIN p SONAME 'p.so'
-- stops: INSTALL PLUGIN is not translated

-- case: a file written
SELECT * FROM t INTO OUTFILE 'rows.txt'
-- stops: SELECT * is not translated

-- case: rows imported
IMPORT INTO t FROM '/etc/passwd'
-- stops: IMPORT INTO is not translated

-- case: rows deleted
DELETE FROM t
-- stops: DELETE FROM is not translated

-- case: a sequence
CREATE SEQUENCE q
-- stops: the target has no sequences: rows carry the generated values

-- case: a placement policy
CREATE PLACEMENT POLICY p FOLLOWERS = 2
-- stops: CREATE PLACEMENT is not translated

-- case: a temporary table
CREATE TEMPORARY TABLE t2 (id INT PRIMARY KEY)
-- stops: CREATE TEMPORARY is not translated

-- case: the whole cluster goes back
FLASHBACK CLUSTER TO TIMESTAMP '2024-05-05 05:05:05'
-- stops: FLASHBACK CLUSTER is not translated

-- case: a database comes back
FLASHBACK DATABASE s TO s2
-- stops: FLASHBACK DATABASE is not translated

-- case: a table's file is taken from elsewhere
ALTER TABLE t IMPORT TABLESPACE
-- stops: 'IMPORT' is not translated

-- case: a statement in the middle of another
ALTER TABLE t ADD COLUMN c INT; SELECT 1
-- stops: after the statement

-- case: a quote that does not end
ALTER TABLE t COMMENT = 'x
-- stops: unbalanced quotes
