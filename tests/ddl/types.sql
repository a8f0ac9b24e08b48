-- table: CREATE TABLE t (id INT PRIMARY KEY, n INT, u INT UNSIGNED NOT NULL, d DECIMAL(10,2), s VARCHAR(10), c CHAR(5))
-- rows: 1, 10, 5, '1.10', 'abc', 'c' | 2, NULL, 0, NULL, NULL, NULL

-- case: INT becomes BIGINT
ALTER TABLE t MODIFY COLUMN n BIGINT
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE bigint USING "n"::bigint
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` bigint NULL

-- case: INT becomes BIGINT UNSIGNED
ALTER TABLE t MODIFY COLUMN n BIGINT UNSIGNED
-- then: 1 10 5 1.10 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" TEXT, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", CAST("n" AS TEXT), "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE numeric(20,0) USING "n"::numeric(20,0)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` bigint unsigned NULL

-- case: INT becomes BIGINT UNSIGNED, and gets a default, which TiDB writes where there was NULL
ALTER TABLE t MODIFY COLUMN n BIGINT UNSIGNED DEFAULT 8
-- stops: it has values that its new definition cannot hold unchanged

-- case: INT becomes BIGINT, and gets a default, which changes no value
ALTER TABLE t MODIFY COLUMN n BIGINT DEFAULT 8
-- then: 1 10 5 1.10 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" INTEGER DEFAULT '8', "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", "n", "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` bigint NULL DEFAULT '8'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE bigint USING "n"::bigint
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" SET DEFAULT '8'

-- case: INT becomes TINYINT where the values fit
ALTER TABLE t MODIFY COLUMN n TINYINT
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE smallint USING "n"::smallint
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` tinyint NULL

-- case: INT becomes NOT NULL where there is a NULL
ALTER TABLE t MODIFY COLUMN n INT NOT NULL
-- stops: it has values that its new definition cannot hold

-- case: NOT NULL becomes nullable
ALTER TABLE t MODIFY COLUMN u INT UNSIGNED
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" INTEGER, "u" INTEGER, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", "n", "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "u" DROP NOT NULL
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `u` int unsigned NULL

-- case: unsigned becomes signed
ALTER TABLE t MODIFY COLUMN u INT NOT NULL
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "u" TYPE integer USING "u"::integer
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `u` int NOT NULL

-- case: INT becomes DECIMAL
ALTER TABLE t MODIFY COLUMN n DECIMAL(12,2)
-- then: 1 10.00 5 1.10 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" TEXT, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", CAST("n" AS TEXT) || '.00', "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE numeric(12,2) USING "n"::numeric(12,2)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` decimal(12,2) NULL

-- case: INT becomes a DECIMAL of fewer digits where the values fit
ALTER TABLE t MODIFY COLUMN n DECIMAL(5,2)
-- then: 1 10.00 5 1.10 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" TEXT, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", CAST("n" AS TEXT) || '.00', "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE numeric(5,2) USING "n"::numeric(5,2)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` decimal(5,2) NULL

-- case: INT becomes a DECIMAL that is too short for a value
ALTER TABLE t MODIFY COLUMN n DECIMAL(3,2)
-- stops: it has values that its new definition cannot hold

-- case: INT becomes VARCHAR
ALTER TABLE t MODIFY COLUMN n VARCHAR(11)
-- then: 1 10 5 1.10 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" TEXT, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", CAST("n" AS TEXT), "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE text USING "n"::text
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` varchar(11) character set utf8mb4 collate utf8mb4_bin NULL

-- case: INT becomes a VARCHAR that is too short
ALTER TABLE t MODIFY COLUMN n VARCHAR(1)
-- stops: it has values that its new definition cannot hold

-- case: INT becomes DOUBLE
ALTER TABLE t MODIFY COLUMN n DOUBLE
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" REAL, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", CAST("n" AS REAL), "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE double precision USING "n"::double precision
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` double NULL

-- case: DECIMAL becomes VARCHAR
ALTER TABLE t MODIFY COLUMN d VARCHAR(20)
-- then: 1 10 5 1.10 abc c | 2 None 0 None None None
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "d" TYPE text USING "d"::text
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `d` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL

-- case: DECIMAL of more digits
ALTER TABLE t MODIFY COLUMN d DECIMAL(14,4)
-- then: 1 10 5 1.1000 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" INTEGER, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", "n", "u", "d" || '00', "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "d" TYPE numeric(14,4) USING "d"::numeric(14,4)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `d` decimal(14,4) NULL

-- case: DECIMAL of fewer digits
ALTER TABLE t MODIFY COLUMN d DECIMAL(10,1)
-- then: 1 10 5 1.1 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" INTEGER, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", "n", "u", ticdc_decimal("d", 1), "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "d" TYPE numeric(10,1) USING "d"::numeric(10,1)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `d` decimal(10,1) NULL

-- case: DECIMAL becomes FLOAT
ALTER TABLE t MODIFY COLUMN d FLOAT
-- then: 1 10 5 1.1 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" INTEGER, "u" INTEGER NOT NULL, "d" REAL, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", "n", "u", ticdc_single("d"), "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "d" TYPE real USING "d"::double precision::real
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `d` float NULL

-- case: VARCHAR becomes longer
ALTER TABLE t MODIFY COLUMN s VARCHAR(40)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `s` varchar(40) character set utf8mb4 collate utf8mb4_bin NULL

-- case: VARCHAR becomes shorter where the values fit
ALTER TABLE t MODIFY COLUMN s VARCHAR(3)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `s` varchar(3) character set utf8mb4 collate utf8mb4_bin NULL

-- case: VARCHAR becomes shorter than a value
ALTER TABLE t MODIFY COLUMN s VARCHAR(2)
-- stops: it has values that its new definition cannot hold

-- case: VARCHAR becomes TEXT
ALTER TABLE t MODIFY COLUMN s TEXT
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `s` text character set utf8mb4 collate utf8mb4_bin NULL

-- case: VARCHAR becomes CHAR
ALTER TABLE t MODIFY COLUMN s CHAR(10)
-- then: 1 10 5 1.10 abc c | 2 None 0 None None None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" INTEGER, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", "n", "u", "d", rtrim("s", ' '), "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "s" TYPE text USING rtrim("s", ' ')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `s` char(10) character set utf8mb4 collate utf8mb4_bin NULL

-- case: CHAR becomes VARCHAR
ALTER TABLE t MODIFY COLUMN c VARCHAR(5) NOT NULL DEFAULT ''
-- stops: it has values that its new definition cannot hold

-- case: CHAR becomes a nullable VARCHAR
ALTER TABLE t MODIFY COLUMN c VARCHAR(5)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `c` varchar(5) character set utf8mb4 collate utf8mb4_bin NULL

-- case: VARCHAR becomes INT
ALTER TABLE t MODIFY COLUMN s INT
-- stops: cannot convert existing values from

-- case: VARCHAR becomes VARBINARY
ALTER TABLE t MODIFY COLUMN s VARBINARY(10)
-- stops: cannot convert existing values from

-- case: another collation
ALTER TABLE t CHANGE COLUMN s s2 VARCHAR(40) CHARACTER SET UTF8MB4 COLLATE utf8mb4_0900_ai_ci NULL
-- sqlite: ALTER TABLE "t" RENAME COLUMN "s" TO "s2"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "s" TO "s2"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `s` `s2` varchar(40) character set utf8mb4 collate utf8mb4_0900_ai_ci NULL
-- mariadb: ALTER TABLE `s`.`t` CHANGE COLUMN `s` `s2` varchar(40) character set utf8mb4 collate utf8mb4_nopad_bin NULL

-- case: a smaller character set
ALTER TABLE t MODIFY COLUMN s VARCHAR(10) CHARACTER SET gbk
-- stops: cannot convert existing values from

-- case: only a comment and a default
ALTER TABLE t MODIFY COLUMN n INT DEFAULT 3 COMMENT 'it''s'
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "n" INTEGER DEFAULT '3', "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT "id", "n", "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" SET DEFAULT '3'
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` int NULL DEFAULT '3'

-- case: several columns at once
ALTER TABLE t MODIFY COLUMN n BIGINT, CHANGE COLUMN s s2 VARCHAR(20), ADD COLUMN e INT DEFAULT 1
-- sqlite: ALTER TABLE "t" RENAME COLUMN "s" TO "s2"
-- sqlite: ALTER TABLE "t" ADD COLUMN "e" INTEGER DEFAULT '1'
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "s" TO "s2"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "e" integer DEFAULT '1'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "n" TYPE bigint USING "n"::bigint
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `n` bigint NULL, CHANGE COLUMN `s` `s2` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL, ADD COLUMN `e` int NULL DEFAULT '1'
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `s` `s2` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL, MODIFY COLUMN `n` bigint NULL, ADD COLUMN `e` int NULL DEFAULT '1'

-- case: the key becomes wider
ALTER TABLE t MODIFY COLUMN id BIGINT
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "id" TYPE bigint USING "id"::bigint
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `id` bigint NOT NULL

-- case: the key may say NULL and stays NOT NULL
ALTER TABLE t MODIFY COLUMN id BIGINT UNSIGNED
-- stops.tidb: column id is of the primary key, and TiDB does not make bigint unsigned of int there
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" TEXT NOT NULL, "n" INTEGER, "u" INTEGER NOT NULL, "d" TEXT, "s" TEXT, "c" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "n", "u", "d", "s", "c") SELECT CAST("id" AS TEXT), "n", "u", "d", "s", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "id" TYPE numeric(20,0) USING "id"::numeric(20,0)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `id` bigint unsigned NOT NULL

-- table: CREATE TABLE t (id INT, dt DATETIME, tm TIME(2), b BIT(4), e ENUM('a','b'), w SET('p','q'), c CHAR(3), PRIMARY KEY (id, dt, tm, b, e, w, c))
-- rows: 1, '2024-05-05 01:02:03', '01:02:03.25', 5, 'b', 'p,q', 'abc'

-- case: columns of the key take more digits, bits, labels and characters
ALTER TABLE t MODIFY COLUMN dt DATETIME(3), MODIFY COLUMN tm TIME(6), MODIFY COLUMN b BIT(8), MODIFY COLUMN e ENUM('a','b','c'), MODIFY COLUMN w SET('p','q','r'), MODIFY COLUMN c CHAR(5)
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "dt" TEXT NOT NULL, "tm" TEXT NOT NULL, "b" INTEGER NOT NULL, "e" TEXT NOT NULL, "w" TEXT NOT NULL, "c" TEXT NOT NULL, PRIMARY KEY ("id", "dt", "tm", "b", "e", "w", "c"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "dt", "tm", "b", "e", "w", "c") SELECT "id", "dt" || '.000', "tm" || '0000', "b", "e", "w", "c" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `dt` datetime(3) NOT NULL, MODIFY COLUMN `tm` time(6) NOT NULL, MODIFY COLUMN `b` bit(8) NOT NULL, MODIFY COLUMN `e` enum('a','b','c') character set utf8mb4 collate utf8mb4_bin NOT NULL, MODIFY COLUMN `w` set('p','q','r') character set utf8mb4 collate utf8mb4_bin NOT NULL, MODIFY COLUMN `c` char(5) character set utf8mb4 collate utf8mb4_bin NOT NULL

-- case: the labels of a column of the key move
ALTER TABLE t MODIFY COLUMN e ENUM('b','a')
-- stops.tidb: column e is of the primary key, and TiDB does not make enum('b','a')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `e` enum('b','a') character set utf8mb4 collate utf8mb4_bin NOT NULL

-- table: CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a','b'), w SET('p','q'), dt DATETIME, dd DATE, tm TIME, y YEAR, b VARBINARY(4), f FLOAT)
-- rows: 1, 'b', 'p,q', '2024-05-05 01:02:03', '2024-05-06', '01:02:03', 2024, NULL, 1.5

-- case: ENUM with one more label
ALTER TABLE t MODIFY COLUMN e ENUM('a','b','c')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `e` enum('a','b','c') character set utf8mb4 collate utf8mb4_bin NULL

-- case: ENUM with its labels in another order
ALTER TABLE t MODIFY COLUMN e ENUM('b','a')
-- then.sqlite: 1 b p,q 2024-05-05 01:02:03 2024-05-06 01:02:03 2024 None 1.5
-- then: 1 b p,q 2024-05-05 01:02:03 2024-05-06 1:02:03 2024 None 1.5
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `e` enum('b','a') character set utf8mb4 collate utf8mb4_bin NULL

-- case: ENUM without a label that a row has
ALTER TABLE t MODIFY COLUMN e ENUM('a')
-- stops: it has values that its new definition cannot hold

-- case: SET with its labels in another order
ALTER TABLE t MODIFY COLUMN w SET('q','p')
-- stops: cannot convert existing values from

-- case: ENUM becomes VARCHAR
ALTER TABLE t MODIFY COLUMN e VARCHAR(3)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `e` varchar(3) character set utf8mb4 collate utf8mb4_bin NULL

-- case: SET with one more label
ALTER TABLE t MODIFY COLUMN w SET('p','q','r')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `w` set('p','q','r') character set utf8mb4 collate utf8mb4_bin NULL

-- case: DATETIME of more digits
ALTER TABLE t MODIFY COLUMN dt DATETIME(3)
-- then.sqlite: 1 b p,q 2024-05-05 01:02:03.000 2024-05-06 01:02:03 2024 None 1.5
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "e" TEXT, "w" TEXT, "dt" TEXT, "dd" TEXT, "tm" TEXT, "y" INTEGER, "b" BLOB, "f" REAL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "e", "w", "dt", "dd", "tm", "y", "b", "f") SELECT "id", "e", "w", "dt" || '.000', "dd", "tm", "y", "b", "f" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `dt` datetime(3) NULL

-- case: DATETIME becomes TIMESTAMP
ALTER TABLE t MODIFY COLUMN dt TIMESTAMP
-- stops: cannot convert existing values from

-- case: DATE becomes DATETIME
ALTER TABLE t MODIFY COLUMN dd DATETIME
-- then.sqlite: 1 b p,q 2024-05-05 01:02:03 2024-05-06 00:00:00 01:02:03 2024 None 1.5
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "e" TEXT, "w" TEXT, "dt" TEXT, "dd" TEXT, "tm" TEXT, "y" INTEGER, "b" BLOB, "f" REAL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "e", "w", "dt", "dd", "tm", "y", "b", "f") SELECT "id", "e", "w", "dt", "dd" || ' 00:00:00', "tm", "y", "b", "f" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "dd" TYPE timestamp without time zone USING "dd"::timestamp without time zone
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `dd` datetime NULL

-- case: DATETIME becomes DATE
ALTER TABLE t MODIFY COLUMN dt DATE
-- then.sqlite: 1 b p,q 2024-05-05 2024-05-06 01:02:03 2024 None 1.5
-- then: 1 b p,q 2024-05-05 2024-05-06 1:02:03 2024 None 1.5
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "e" TEXT, "w" TEXT, "dt" TEXT, "dd" TEXT, "tm" TEXT, "y" INTEGER, "b" BLOB, "f" REAL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "e", "w", "dt", "dd", "tm", "y", "b", "f") SELECT "id", "e", "w", substr("dt", 1, 10), "dd", "tm", "y", "b", "f" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "dt" TYPE date USING "dt"::date
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `dt` date NULL

-- case: DATE becomes a number
ALTER TABLE t MODIFY COLUMN dd INT
-- then.sqlite: 1 b p,q 2024-05-05 01:02:03 20240506 01:02:03 2024 None 1.5
-- then: 1 b p,q 2024-05-05 01:02:03 20240506 1:02:03 2024 None 1.5
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "e" TEXT, "w" TEXT, "dt" TEXT, "dd" INTEGER, "tm" TEXT, "y" INTEGER, "b" BLOB, "f" REAL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "e", "w", "dt", "dd", "tm", "y", "b", "f") SELECT "id", "e", "w", "dt", CAST(replace(replace(replace("dd", ':', ''), '-', ''), ' ', '') AS INTEGER), "tm", "y", "b", "f" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "dd" TYPE integer USING (to_char("dd", 'YYYYMMDD'))::integer
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `dd` int NULL

-- case: DATE becomes a number that is too small for it
ALTER TABLE t MODIFY COLUMN dd MEDIUMINT
-- stops: cannot convert existing values from

-- case: TIME becomes text
ALTER TABLE t MODIFY COLUMN tm VARCHAR(10)
-- then: 1 b p,q 2024-05-05 01:02:03 2024-05-06 01:02:03 2024 None 1.5
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "tm" TYPE text USING CASE WHEN "tm" < interval '0' THEN '-' ELSE '' END || to_char(CASE WHEN "tm" < interval '0' THEN -"tm" ELSE "tm" END, 'HH24:MI:SS')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `tm` varchar(10) character set utf8mb4 collate utf8mb4_bin NULL

-- case: TIME becomes text that is too short for some
ALTER TABLE t MODIFY COLUMN tm VARCHAR(9)
-- stops: cannot convert existing values from

-- case: TIME of more digits
ALTER TABLE t MODIFY COLUMN tm TIME(6)
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "e" TEXT, "w" TEXT, "dt" TEXT, "dd" TEXT, "tm" TEXT, "y" INTEGER, "b" BLOB, "f" REAL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "e", "w", "dt", "dd", "tm", "y", "b", "f") SELECT "id", "e", "w", "dt", "dd", "tm" || '.000000', "y", "b", "f" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `tm` time(6) NULL

-- case: VARBINARY becomes longer
ALTER TABLE t MODIFY COLUMN b VARBINARY(300)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `b` varbinary(300) NULL

-- case: VARBINARY becomes BLOB
ALTER TABLE t MODIFY COLUMN b BLOB
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `b` blob NULL

-- case: FLOAT becomes DOUBLE
ALTER TABLE t MODIFY COLUMN f DOUBLE
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "e" TEXT, "w" TEXT, "dt" TEXT, "dd" TEXT, "tm" TEXT, "y" INTEGER, "b" BLOB, "f" REAL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "e", "w", "dt", "dd", "tm", "y", "b", "f") SELECT "id", "e", "w", "dt", "dd", "tm", "y", "b", ticdc_float32("f") FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "f" TYPE double precision USING "f"::real::double precision
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `f` double NULL

-- case: YEAR becomes INT
ALTER TABLE t MODIFY COLUMN y INT
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "y" TYPE integer USING "y"::integer
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `y` int NULL

-- table: CREATE TABLE t (id INT PRIMARY KEY, d DOUBLE(8,2))
-- rows: 1, 1.25 | 2, NULL

-- case: a DOUBLE loses its digits
ALTER TABLE t MODIFY COLUMN d DOUBLE
-- then: 1 1.25 | 2 None

-- table: CREATE TABLE t (id INT PRIMARY KEY, b BINARY(2))
-- rows: 1, '' | 2, 'ab' | 3, NULL

-- case: BINARY becomes longer
ALTER TABLE t MODIFY COLUMN b BINARY(4)
-- then: 1 00000000 | 2 61620000 | 3 None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "b" BLOB, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "b") SELECT "id", CAST("b" || zeroblob(4 - length("b")) AS BLOB) FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" TYPE bytea USING "b" || decode(repeat('00', 4 - octet_length("b")), 'hex')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `b` binary(4) NULL

-- case: BINARY becomes VARBINARY
ALTER TABLE t MODIFY COLUMN b VARBINARY(4)
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `b` varbinary(4) NULL

-- case: BINARY becomes shorter than its values
ALTER TABLE t MODIFY COLUMN b BINARY(1)
-- stops: it has values that its new definition cannot hold

-- table: CREATE TABLE t (id INT PRIMARY KEY, b VARBINARY(3) NOT NULL, UNIQUE KEY u (b))
-- rows: 1, '' | 2, 'abc'

-- case: VARBINARY becomes BINARY
ALTER TABLE t MODIFY COLUMN b BINARY(4) NOT NULL
-- then: 1 00000000 | 2 61626300
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "b" BLOB NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "b") SELECT "id", CAST("b" || zeroblob(4 - length("b")) AS BLOB) FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_u_65660eec" ON "t" ("b")
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" TYPE bytea USING "b" || decode(repeat('00', 4 - octet_length("b")), 'hex')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `b` binary(4) NOT NULL

-- table: CREATE TABLE t (id INT PRIMARY KEY, d DATETIME(6) NOT NULL, tm TIME(6), UNIQUE KEY u (d))
-- rows: 1, '1999-12-31 23:59:59.5', '10:11:12.5' | 2, '2024-02-28 23:59:59.499999', NULL

-- case: DATETIME of fewer digits
ALTER TABLE t MODIFY COLUMN d DATETIME NOT NULL
-- then.sqlite: 1 2000-01-01 00:00:00 10:11:12.5 | 2 2024-02-28 23:59:59 None
-- then: 1 2000-01-01 00:00:00 10:11:12.500000 | 2 2024-02-28 23:59:59 None
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "d" TEXT NOT NULL, "tm" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "d", "tm") SELECT "id", ticdc_rounded("d", 0), "tm" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_u_65660eec" ON "t" ("d")
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "d" TYPE timestamp without time zone USING "d" + (floor((extract(microseconds FROM "d")::numeric + 500000) / 1000000) * 1000000 - extract(microseconds FROM "d")::numeric)::double precision * interval '1 microsecond'
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `d` datetime NOT NULL
-- mariadb: SET SESSION sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL')
-- mariadb: ALTER TABLE `s`.`t` MODIFY COLUMN `d` datetime NOT NULL
-- mariadb: SET SESSION sql_mode = REPLACE(@@sql_mode, ',TIME_ROUND_FRACTIONAL', '')

-- case: TIME of fewer digits
ALTER TABLE t MODIFY COLUMN tm TIME
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "d" TEXT NOT NULL, "tm" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "d", "tm") SELECT "id", "d", ticdc_rounded("tm", 0) FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_u_65660eec" ON "t" ("d")
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "tm" TYPE interval USING "tm" + (floor((extract(microseconds FROM "tm")::numeric + 500000) / 1000000) * 1000000 - extract(microseconds FROM "tm")::numeric)::double precision * interval '1 microsecond'
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `tm` time NULL
-- mariadb: SET SESSION sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL')
-- mariadb: ALTER TABLE `s`.`t` MODIFY COLUMN `tm` time NULL
-- mariadb: SET SESSION sql_mode = REPLACE(@@sql_mode, ',TIME_ROUND_FRACTIONAL', '')

-- case: DATETIME of digits becomes DATE
ALTER TABLE t MODIFY COLUMN d DATE NOT NULL
-- then: 1 1999-12-31 10:11:12.500000 | 2 2024-02-28 None
-- then.sqlite: 1 1999-12-31 10:11:12.5 | 2 2024-02-28 None
-- mysql: SET SESSION sql_mode = CONCAT(@@sql_mode, ',TIME_TRUNCATE_FRACTIONAL')
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `d` date NOT NULL
-- mysql: SET SESSION sql_mode = REPLACE(@@sql_mode, ',TIME_TRUNCATE_FRACTIONAL', '')
-- mariadb: ALTER TABLE `s`.`t` MODIFY COLUMN `d` date NOT NULL
-- tidb: ALTER TABLE `s`.`t` MODIFY COLUMN `d` date NOT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "d" TEXT NOT NULL, "tm" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "d", "tm") SELECT "id", substr("d", 1, 10), "tm" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_u_65660eec" ON "t" ("d")
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "d" TYPE date USING "d"::date

-- case: DATETIME becomes DATE where a TIME is rounded
ALTER TABLE t MODIFY COLUMN d DATE NOT NULL, MODIFY COLUMN tm TIME
-- stops.mysql: column d loses its time, which this server would round
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "d" TEXT NOT NULL, "tm" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "d", "tm") SELECT "id", substr("d", 1, 10), ticdc_rounded("tm", 0) FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- sqlite: CREATE UNIQUE INDEX "t_u_65660eec" ON "t" ("d")
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "d" TYPE date USING "d"::date
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "tm" TYPE interval USING "tm" + (floor((extract(microseconds FROM "tm")::numeric + 500000) / 1000000) * 1000000 - extract(microseconds FROM "tm")::numeric)::double precision * interval '1 microsecond'
-- mariadb: SET SESSION sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL')
-- mariadb: ALTER TABLE `s`.`t` MODIFY COLUMN `d` date NOT NULL, MODIFY COLUMN `tm` time NULL
-- mariadb: SET SESSION sql_mode = REPLACE(@@sql_mode, ',TIME_ROUND_FRACTIONAL', '')
-- tidb: ALTER TABLE `s`.`t` MODIFY COLUMN `d` date NOT NULL, MODIFY COLUMN `tm` time NULL
