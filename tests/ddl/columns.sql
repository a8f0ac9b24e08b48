-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10) NOT NULL)
-- rows: 1, 10, 'x' | 2, NULL, 'y'

-- case: a column at the end
ALTER TABLE t ADD COLUMN b INT
-- then: 1 10 x None | 2 None y None
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL

-- case: the word COLUMN may be left out
ALTER TABLE `s`.`t` ADD b BIGINT UNSIGNED DEFAULT 18446744073709551615
-- then: 1 10 x 18446744073709551615 | 2 None y 18446744073709551615
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT '18446744073709551615'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" numeric(20,0) DEFAULT '18446744073709551615'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` bigint unsigned NULL DEFAULT '18446744073709551615'

-- case: rows that are there take the default
ALTER TABLE t ADD COLUMN b INT NOT NULL DEFAULT 7
-- then: 1 10 x 7 | 2 None y 7
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER NOT NULL DEFAULT '7'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer NOT NULL DEFAULT '7'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NOT NULL DEFAULT '7'

-- case: a nullable column with a default
ALTER TABLE t ADD COLUMN b INT DEFAULT -7
-- then: 1 10 x -7 | 2 None y -7
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER DEFAULT '-7'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer DEFAULT '-7'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL DEFAULT '-7'

-- case: NOT NULL without a default is TiDB's zero
ALTER TABLE t ADD COLUMN b INT NOT NULL
-- then: 1 10 x 0 | 2 None y 0
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" INTEGER NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '0' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer NOT NULL DEFAULT '0'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NOT NULL

-- case: NOT NULL text without a default is empty
ALTER TABLE t ADD COLUMN b VARCHAR(5) NOT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text NOT NULL DEFAULT ''
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(5) character set utf8mb4 collate utf8mb4_bin NOT NULL

-- case: NOT NULL ENUM without a default is its first label
ALTER TABLE t ADD COLUMN b ENUM('n','y') NOT NULL
-- then: 1 10 x n | 2 None y n
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", 'n' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text NOT NULL DEFAULT 'n'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` enum('n','y') character set utf8mb4 collate utf8mb4_bin NOT NULL

-- case: NOT NULL SET without a default is empty
ALTER TABLE t ADD COLUMN b SET('n','y') NOT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text NOT NULL DEFAULT ''
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` set('n','y') character set utf8mb4 collate utf8mb4_bin NOT NULL

-- case: NOT NULL DECIMAL without a default
ALTER TABLE t ADD COLUMN b DECIMAL(6,2) NOT NULL
-- then: 1 10 x 0.00 | 2 None y 0.00
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '0.00' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" numeric(6,2) NOT NULL DEFAULT '0.00'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` decimal(6,2) NOT NULL

-- case: NOT NULL BINARY without a default is zero bytes
ALTER TABLE t ADD COLUMN b BINARY(3) NOT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" BLOB NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", X'000000' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bytea NOT NULL DEFAULT '\x000000'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` binary(3) NOT NULL

-- case: NOT NULL DATETIME without a default is the zero date
ALTER TABLE t ADD COLUMN b DATETIME NOT NULL
-- stops.postgresql: PostgreSQL has no date 0000-00-00 00:00:00
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '0000-00-00 00:00:00' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` datetime NOT NULL DEFAULT '0000-00-00 00:00:00'
-- mysql: ALTER TABLE `s`.`t` ALTER COLUMN `b` DROP DEFAULT

-- case: NOT NULL TIME without a default
ALTER TABLE t ADD COLUMN b TIME(3) NOT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '00:00:00.000' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" interval NOT NULL DEFAULT '00:00:00.000'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` time(3) NOT NULL

-- case: NOT NULL JSON without a default is a null of JSON
ALTER TABLE t ADD COLUMN b JSON NOT NULL
-- then: 1 10 x null | 2 None y null
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", 'null' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text NOT NULL DEFAULT 'null'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` longtext character set utf8mb4 collate utf8mb4_bin NOT NULL DEFAULT ('null')
-- mysql: ALTER TABLE `s`.`t` ALTER COLUMN `b` DROP DEFAULT
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` json NOT NULL

-- case: a nullable JSON
ALTER TABLE t ADD COLUMN b JSON
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` longtext character set utf8mb4 collate utf8mb4_bin NULL
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` json NULL

-- case: the first column
ALTER TABLE t ADD COLUMN b INT FIRST
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL FIRST

-- case: after another column
ALTER TABLE t ADD COLUMN b INT AFTER id
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL AFTER `id`

-- case: several columns, one after another
ALTER TABLE t ADD COLUMN b INT DEFAULT 1, ADD COLUMN c VARCHAR(3) DEFAULT 'c' AFTER id, ADD COLUMN d TINYINT FIRST
-- sqlite: ALTER TABLE "t" ADD COLUMN "d" INTEGER
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" TEXT DEFAULT 'c'
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER DEFAULT '1'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "d" smallint
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" text DEFAULT 'c'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer DEFAULT '1'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `d` tinyint NULL FIRST, ADD COLUMN `c` varchar(3) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'c' AFTER `id`, ADD COLUMN `b` int NULL DEFAULT '1'

-- case: several columns in parentheses
ALTER TABLE t ADD COLUMN (b INT, c DECIMAL(5,2) DEFAULT 1.5)
-- then: 1 10 x None 1.50 | 2 None y None 1.50
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" TEXT DEFAULT '1.50'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" numeric(5,2) DEFAULT '1.50'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL, ADD COLUMN `c` decimal(5,2) NULL DEFAULT '1.50'

-- case: a column that is there already and may be
ALTER TABLE t ADD COLUMN IF NOT EXISTS A INT

-- case: a default in the character set that TiCDC names
ALTER TABLE `t` ADD COLUMN `b` VARCHAR(20) DEFAULT _UTF8MB4'it''s; -- "x" \\ 100%'
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT 'it''s; -- "x" \ 100%'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT 'it''s; -- "x" \ 100%'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'it''s; -- "x" \ 100%'

-- case: a DECIMAL default is filled up with zeros
ALTER TABLE t ADD COLUMN b DECIMAL(10,3) NOT NULL DEFAULT 1.5
-- then: 1 10 x 1.500 | 2 None y 1.500
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT NOT NULL DEFAULT '1.500'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" numeric(10,3) NOT NULL DEFAULT '1.500'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` decimal(10,3) NOT NULL DEFAULT '1.500'

-- case: a DOUBLE default in another notation
ALTER TABLE t ADD COLUMN b DOUBLE DEFAULT 1e+10
-- then: 1 10 x 10000000000.0 | 2 None y 10000000000.0
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" REAL DEFAULT '10000000000.0'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" double precision DEFAULT '10000000000.0'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` double NULL DEFAULT '10000000000.0'

-- case: a FLOAT default
ALTER TABLE t ADD COLUMN b FLOAT NOT NULL DEFAULT 0.5
-- then: 1 10 x 0.5 | 2 None y 0.5
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" REAL NOT NULL DEFAULT '0.5'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" real NOT NULL DEFAULT '0.5'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` float NOT NULL DEFAULT '0.5'

-- case: a FLOAT default that is rounded
ALTER TABLE t ADD COLUMN b FLOAT(10,2) DEFAULT 1.005
-- then: 1 10 x 1.0 | 2 None y 1.0
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" REAL DEFAULT '1.0'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" real DEFAULT '1.0'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` float NULL DEFAULT '1.0'

-- case: a BIT default
ALTER TABLE t ADD COLUMN b BIT(4) NOT NULL DEFAULT b'101'
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER NOT NULL DEFAULT '5'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bigint NOT NULL DEFAULT '5'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` bit(4) NOT NULL DEFAULT b'101'

-- case: a DATE default
ALTER TABLE t ADD COLUMN b DATE DEFAULT '2024-02-29'
-- then: 1 10 x 2024-02-29 | 2 None y 2024-02-29
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '2024-02-29' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" date DEFAULT '2024-02-29'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` date NULL DEFAULT '2024-02-29'

-- case: a DATETIME default is filled up with zeros
ALTER TABLE t ADD COLUMN b DATETIME(3) DEFAULT _UTF8MB4'2021-07-13 01:02:03'
-- then.sqlite: 1 10 x 2021-07-13 01:02:03.000 | 2 None y 2021-07-13 01:02:03.000
-- then.postgresql: 1 10 x 2021-07-13 01:02:03 | 2 None y 2021-07-13 01:02:03
-- then.mariadb: 1 10 x 2021-07-13 01:02:03 | 2 None y 2021-07-13 01:02:03
-- then.mysql: 1 10 x 2021-07-13 01:02:03 | 2 None y 2021-07-13 01:02:03
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '2021-07-13 01:02:03.000' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" timestamp without time zone DEFAULT '2021-07-13 01:02:03.000'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` datetime(3) NULL DEFAULT '2021-07-13 01:02:03.000'

-- case: the current timestamp is that of the upstream's clock, in the time zone of its session
ALTER TABLE t ADD COLUMN b DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)
-- stops: existing rows get the time at which the upstream began the statement, which is not sent

-- case: the current timestamp of a TIMESTAMP
ALTER TABLE t ADD COLUMN b TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
-- stops: existing rows get the time at which the upstream began the statement, which is not sent

-- case: a TIMESTAMP default is meant in a time zone that nobody tells
ALTER TABLE t ADD COLUMN b TIMESTAMP DEFAULT '2024-01-01 00:00:00'
-- stops: its default is a time in the time zone of the upstream's session, which is not sent

-- case: a TIME default
ALTER TABLE t ADD COLUMN b TIME DEFAULT '-838:59:59'
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '-838:59:59' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" interval DEFAULT '-838:59:59'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` time NULL DEFAULT '-838:59:59'

-- case: a YEAR default of four digits
ALTER TABLE t ADD COLUMN b YEAR DEFAULT 1999
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER DEFAULT '1999'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" smallint DEFAULT '1999'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` year NULL DEFAULT '1999'

-- case: the year 0000 as a default
ALTER TABLE t ADD COLUMN b YEAR DEFAULT '0000'
-- then: 1 10 x 0 | 2 None y 0
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER DEFAULT '0'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" smallint DEFAULT '0'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` year NULL DEFAULT '0000'

-- case: a YEAR default of two digits
ALTER TABLE t ADD COLUMN b YEAR DEFAULT 99
-- then: 1 10 x 1999 | 2 None y 1999
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER DEFAULT '1999'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" smallint DEFAULT '1999'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` year NULL DEFAULT '1999'

-- case: an ENUM default
ALTER TABLE t ADD COLUMN b ENUM('a','b''c') DEFAULT 'b''c'
-- then: 1 10 x b'c | 2 None y b'c
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT 'b''c'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT 'b''c'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` enum('a','b''c') character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'b''c'

-- case: an ENUM default that is a number is that of a label
ALTER TABLE t ADD COLUMN b ENUM('2','1') DEFAULT 1
-- then: 1 10 x 2 | 2 None y 2
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT '2'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT '2'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` enum('2','1') character set utf8mb4 collate utf8mb4_bin NULL DEFAULT '2'

-- case: a SET default that is a number is that of labels
ALTER TABLE t ADD COLUMN b SET('4','2','1') DEFAULT 5
-- then: 1 10 x 4,1 | 2 None y 4,1
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT '4,1'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT '4,1'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` set('4','2','1') character set utf8mb4 collate utf8mb4_bin NULL DEFAULT '4,1'

-- case: a label that has no such number
ALTER TABLE t ADD COLUMN b ENUM('2','1') DEFAULT 3
-- stops: no label of enum has the number 3

-- case: labels have their backslashes as they are, and other texts have them escaped
ALTER TABLE t ADD COLUMN b ENUM('C:\new','it''s\') DEFAULT _UTF8MB4'C:\\new'
-- then: 1 10 x C:\new | 2 None y C:\new
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT 'C:\new'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT 'C:\new'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` enum('C:\new','it''s\') character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'C:\new'

-- case: a literal with a single backslash says that no text is escaped
ALTER TABLE `t` ADD COLUMN `b` VARCHAR(30) NOT NULL DEFAULT _UTF8MB4'C:\new\bin' COMMENT 'c\', ADD COLUMN `c` VARCHAR(9) DEFAULT _UTF8MB4'\\'
-- then: 1 10 x C:\new\bin \\ | 2 None y C:\new\bin \\
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT NOT NULL DEFAULT 'C:\new\bin'
-- sqlite: ALTER TABLE "t" ADD COLUMN "c" TEXT DEFAULT '\\'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text NOT NULL DEFAULT 'C:\new\bin'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" text DEFAULT '\\'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(30) character set utf8mb4 collate utf8mb4_bin NOT NULL DEFAULT 'C:\new\bin', ADD COLUMN `c` varchar(9) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT '\\'

-- case: a default that ends with a backslash, and the comment of a key that does
ALTER TABLE `t` ADD COLUMN `b` VARCHAR(30) DEFAULT _UTF8MB4'x\\', ADD INDEX `i`(`b`) COMMENT 'i\'
-- then: 1 10 x x\ | 2 None y x\
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT 'x\'
-- sqlite: CREATE INDEX "t_i_ceee44e3" ON "t" ("b")
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT 'x\'
-- postgresql: CREATE INDEX "t_i_ceee44e3" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(30) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'x\', ADD KEY `i` (`b`)
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(30) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'x\'
-- tidb: ALTER TABLE `s`.`t` ADD KEY `i` (`b`)

-- case: a BIT default that is a text is its bytes
ALTER TABLE t ADD COLUMN b BIT(8) DEFAULT _UTF8MB4'5'
-- then.sqlite: 1 10 x 53 | 2 None y 53
-- then.postgresql: 1 10 x 53 | 2 None y 53
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER DEFAULT '53'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bigint DEFAULT '53'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` bit(8) NULL DEFAULT b'110101'

-- case: a default of a text that is a number with an exponent
ALTER TABLE t ADD COLUMN b VARCHAR(20) DEFAULT 1e+05
-- then: 1 10 x 100000 | 2 None y 100000
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT '100000'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT '100000'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT '100000'

-- case: a SET default in another order
ALTER TABLE t ADD COLUMN b SET('p','q') DEFAULT 'q,p'
-- then: 1 10 x p,q | 2 None y p,q
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT 'p,q'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT 'p,q'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` set('p','q') character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'p,q'

-- case: a BINARY default is filled up with zero bytes
ALTER TABLE t ADD COLUMN b BINARY(3) DEFAULT 'ab'
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" BLOB, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", X'616200' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bytea DEFAULT '\x616200'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` binary(3) NULL DEFAULT X'616200'
-- mysql: ALTER TABLE `s`.`t` ALTER COLUMN `b` DROP DEFAULT

-- case: a VARBINARY default
ALTER TABLE t ADD COLUMN b VARBINARY(8) DEFAULT 'ab' NOT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" BLOB NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", X'6162' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bytea NOT NULL DEFAULT '\x6162'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varbinary(8) NOT NULL DEFAULT X'6162'
-- mysql: ALTER TABLE `s`.`t` ALTER COLUMN `b` DROP DEFAULT

-- case: a BINARY default of which a longer type would show more
ALTER TABLE t ADD COLUMN b BINARY(3) DEFAULT x'00ff'
-- stops: the value that its default gives existing rows is not certain

-- case: a hexadecimal default
ALTER TABLE t ADD COLUMN b VARBINARY(8) DEFAULT x'00ff'
-- then: 1 10 x 00efbfbd | 2 None y 00efbfbd
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" BLOB, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", X'00efbfbd' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" bytea DEFAULT '\x00efbfbd'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varbinary(8) NULL DEFAULT X'00efbfbd'
-- mysql: ALTER TABLE `s`.`t` ALTER COLUMN `b` DROP DEFAULT

-- case: a DATE default of zero
ALTER TABLE t ADD COLUMN b DATE DEFAULT 0
-- stops.postgresql: column b: PostgreSQL has no date 0000-00-00
-- then: 1 10 x 0000-00-00 | 2 None y 0000-00-00
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '0000-00-00' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` date NULL DEFAULT '0000-00-00'

-- case: a TIME default of a number
ALTER TABLE t ADD COLUMN b TIME DEFAULT 1011
-- then.sqlite: 1 10 x 00:10:11 | 2 None y 00:10:11
-- then.postgresql: 1 10 x 0:10:11 | 2 None y 0:10:11
-- then.mariadb: 1 10 x 0:10:11 | 2 None y 0:10:11
-- then.mysql: 1 10 x 0:10:11 | 2 None y 0:10:11
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '00:10:11' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" interval DEFAULT '00:10:11'
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "b" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` time NULL DEFAULT '00:10:11'

-- case: a TIMESTAMP default of zero
ALTER TABLE t ADD COLUMN b TIMESTAMP DEFAULT 0
-- stops.postgresql: column b: PostgreSQL has no date 0000-00-00 00:00:00
-- then: 1 10 x 0000-00-00 00:00:00 | 2 None y 0000-00-00 00:00:00
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL, "b" TEXT, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s", "b") SELECT "id", "a", "s", '0000-00-00 00:00:00' FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` timestamp NULL DEFAULT '0000-00-00 00:00:00'

-- case: a CHAR default loses its spaces at the end
ALTER TABLE t ADD COLUMN b CHAR(4) NOT NULL DEFAULT 'ab '
-- then: 1 10 x ab | 2 None y ab
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT NOT NULL DEFAULT 'ab'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text NOT NULL DEFAULT 'ab'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` char(4) character set utf8mb4 collate utf8mb4_bin NOT NULL DEFAULT 'ab'

-- case: an expression as default
ALTER TABLE t ADD COLUMN b VARCHAR(36) DEFAULT (UUID())
-- stops: its default is an expression, whose values are not sent

-- case: today as default
ALTER TABLE t ADD COLUMN b DATE DEFAULT (CURRENT_DATE)
-- stops: its default is an expression, whose values are not sent

-- case: a stored column has values that are not sent
ALTER TABLE t ADD COLUMN b INT AS (a + 1) STORED
-- stops: is generated, and its values are not sent

-- case: a unique column
ALTER TABLE t ADD COLUMN b INT UNIQUE
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER
-- sqlite: CREATE UNIQUE INDEX "t_b_ef7d2156" ON "t" ("b")
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer
-- postgresql: CREATE UNIQUE INDEX "t_b_ef7d2156" ON "s"."t" ("b")
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL, ADD UNIQUE KEY `b` (`b`)
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL
-- tidb: ALTER TABLE `s`.`t` ADD UNIQUE KEY `b` (`b`)

-- case: a column in the executable comments of TiDB and MySQL
ALTER TABLE t ADD COLUMN b INT /*!50000 NOT NULL */ /*T![x] DEFAULT 3 */ -- DROP TABLE t
-- then: 1 10 x 3 | 2 None y 3
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER NOT NULL DEFAULT '3'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer NOT NULL DEFAULT '3'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` int NOT NULL DEFAULT '3'

-- case: a column in a named character set
ALTER TABLE t ADD COLUMN b VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT 'é'
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" TEXT DEFAULT 'é'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" text DEFAULT 'é'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'é'
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` varchar(20) character set latin1 collate latin1_bin NULL DEFAULT 'é'

-- case: a boolean
ALTER TABLE t ADD COLUMN b BOOL NOT NULL DEFAULT TRUE
-- then: 1 10 x 1 | 2 None y 1
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER NOT NULL DEFAULT '1'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" smallint NOT NULL DEFAULT '1'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `b` tinyint(1) NOT NULL DEFAULT '1'

-- case: a name that is an injection in every dialect
ALTER TABLE t ADD COLUMN `a"; DROP TABLE t; --'` INT
-- sqlite: ALTER TABLE "t" ADD COLUMN "a""; DROP TABLE t; --'" INTEGER
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a""; DROP TABLE t; --'" integer
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `a"; DROP TABLE t; --'` int NULL

-- case: a name with a backquote
ALTER TABLE t ADD COLUMN `back``tick %s` INT DEFAULT 1
-- sqlite: ALTER TABLE "t" ADD COLUMN "back`tick %s" INTEGER DEFAULT '1'
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "back`tick %s" integer DEFAULT '1'
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `back``tick %s` int NULL DEFAULT '1'

-- case: a column of another table's kind
ALTER TABLE t ADD COLUMN b GEOMETRY
-- stops: unknown type 'geometry'

-- case: a column that is there already
ALTER TABLE t ADD COLUMN a INT
-- stops: column 'a' exists already

-- case: a column goes
ALTER TABLE t DROP COLUMN a
-- then: 1 x | 2 y
-- sqlite: ALTER TABLE "t" DROP COLUMN "a"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "a"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `a`

-- case: a column goes whose name is spelled in another way
ALTER TABLE t DROP `A`
-- sqlite: ALTER TABLE "t" DROP COLUMN "a"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "a"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `a`

-- case: a column that is not there and may be missing
ALTER TABLE t DROP COLUMN IF EXISTS b

-- case: a column that is not there
ALTER TABLE t DROP COLUMN b
-- stops: has no column 'b'

-- case: a column comes and one goes
ALTER TABLE t ADD COLUMN `new.col` INT DEFAULT 1, DROP COLUMN a
-- then.sqlite: 1 x 1 | 2 y 1
-- sqlite: ALTER TABLE "t" DROP COLUMN "a"
-- sqlite: ALTER TABLE "t" ADD COLUMN "new.col" INTEGER DEFAULT '1'
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "a"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "new.col" integer DEFAULT '1'
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `a`, ADD COLUMN `new.col` int NULL DEFAULT '1'

-- case: a column goes and comes anew
ALTER TABLE t DROP COLUMN a, ADD COLUMN a VARCHAR(5) DEFAULT 'n'
-- then: 1 x n | 2 y n
-- sqlite: ALTER TABLE "t" DROP COLUMN "a"
-- sqlite: ALTER TABLE "t" ADD COLUMN "a" TEXT DEFAULT 'n'
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "a"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "a" text DEFAULT 'n'
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `a`, ADD COLUMN `a` varchar(5) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'n'
-- tidb: ALTER TABLE `s`.`t` DROP COLUMN `a`
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `a` varchar(5) character set utf8mb4 collate utf8mb4_bin NULL DEFAULT 'n'

-- case: a column is renamed
ALTER TABLE t RENAME COLUMN a TO b
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "b"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "b"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `b` int NULL

-- case: a column is renamed to another spelling
ALTER TABLE t RENAME COLUMN a TO A
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "A"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "A"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `A` int NULL

-- case: a column is renamed by CHANGE
ALTER TABLE t CHANGE COLUMN a b INT
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "b"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "b"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `b` int NULL

-- case: a column is renamed and becomes wider
ALTER TABLE t CHANGE COLUMN a b BIGINT NOT NULL DEFAULT 5 FIRST
-- stops: it has values that its new definition cannot hold

-- case: a column takes the name of one that goes
ALTER TABLE t DROP COLUMN s, RENAME COLUMN a TO s
-- sqlite: ALTER TABLE "t" DROP COLUMN "s"
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "s"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "s"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "s"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `s`, CHANGE COLUMN `a` `s` int NULL
-- tidb: ALTER TABLE `s`.`t` DROP COLUMN `s`
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `s` int NULL

-- case: the key is renamed
ALTER TABLE t RENAME COLUMN id TO key_of
-- sqlite: ALTER TABLE "t" RENAME COLUMN "id" TO "key_of"
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "id" TO "key_of"
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `id` `key_of` int NOT NULL

-- case: a renamed column and a new one after it
ALTER TABLE t RENAME COLUMN a TO z, ADD COLUMN b INT AFTER z
-- sqlite: ALTER TABLE "t" RENAME COLUMN "a" TO "z"
-- sqlite: ALTER TABLE "t" ADD COLUMN "b" INTEGER
-- postgresql: ALTER TABLE "s"."t" RENAME COLUMN "a" TO "z"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "b" integer
-- mysql: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `z` int NULL, ADD COLUMN `b` int NULL AFTER `z`
-- tidb: ALTER TABLE `s`.`t` CHANGE COLUMN `a` `z` int NULL
-- tidb: ALTER TABLE `s`.`t` ADD COLUMN `b` int NULL AFTER `z`

-- case: a new default
ALTER TABLE t ALTER COLUMN a SET DEFAULT 99
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER DEFAULT '99', "s" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s") SELECT "id", "a", "s" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" SET DEFAULT '99'
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `a` int NULL DEFAULT '99'

-- case: a new default, without the word COLUMN
ALTER TABLE t ALTER s SET DEFAULT 'it''s'
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT NOT NULL DEFAULT 'it''s', PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "s") SELECT "id", "a", "s" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "s" SET DEFAULT 'it''s'
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `s` varchar(10) character set utf8mb4 collate utf8mb4_bin NOT NULL DEFAULT 'it''s'

-- case: no default where there was none
ALTER TABLE t ALTER COLUMN a DROP DEFAULT

-- case: a column moves
ALTER TABLE t MODIFY COLUMN s VARCHAR(10) NOT NULL FIRST
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `s` varchar(10) character set utf8mb4 collate utf8mb4_bin NOT NULL FIRST

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 5)
-- rows: 1, 10

-- case: the default goes
ALTER TABLE t ALTER COLUMN a DROP DEFAULT
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a") SELECT "id", "a" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `a` int NULL

-- case: the default is NULL
ALTER TABLE t ALTER COLUMN a SET DEFAULT NULL
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a") SELECT "id", "a" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `a` int NULL

-- case: the default goes by MODIFY
ALTER TABLE t MODIFY a INT
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a") SELECT "id", "a" FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" DROP DEFAULT
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `a` int NULL

-- case: the last column besides the key
ALTER TABLE t DROP COLUMN a
-- sqlite: ALTER TABLE "t" DROP COLUMN "a"
-- postgresql: ALTER TABLE "s"."t" DROP COLUMN "a"
-- mysql: ALTER TABLE `s`.`t` DROP COLUMN `a`

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT AS (a + (SELECT 1)) VIRTUAL, KEY (b))
-- rows:

-- case: an empty table takes anything
ALTER TABLE t ADD COLUMN c JSON NOT NULL, ADD COLUMN d DATETIME NOT NULL, MODIFY COLUMN a VARCHAR(5)
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" TEXT, "c" TEXT NOT NULL, "d" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "c", "d") SELECT "id", CAST("a" AS TEXT), NULL, NULL FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "c" text NOT NULL
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "d" timestamp without time zone NOT NULL
-- postgresql: ALTER TABLE "s"."t" ALTER COLUMN "a" TYPE text USING NULL::text
-- mysql: ALTER TABLE `s`.`t` MODIFY COLUMN `a` varchar(5) character set utf8mb4 collate utf8mb4_bin NULL, ADD COLUMN `c` longtext character set utf8mb4 collate utf8mb4_bin NOT NULL, ADD COLUMN `d` datetime NOT NULL
-- tidb: ALTER TABLE `s`.`t` MODIFY COLUMN `a` varchar(5) character set utf8mb4 collate utf8mb4_bin NULL, ADD COLUMN `c` json NOT NULL, ADD COLUMN `d` datetime NOT NULL

-- case: in an empty table nothing depends on the upstream's clock
ALTER TABLE t ADD COLUMN d DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
-- sqlite: CREATE TABLE "ticdc_rebuilt" ("id" INTEGER NOT NULL, "a" INTEGER, "d" TEXT NOT NULL, PRIMARY KEY ("id"))
-- sqlite: INSERT INTO "ticdc_rebuilt" ("id", "a", "d") SELECT "id", "a", NULL FROM "t"
-- sqlite: DROP TABLE "t"
-- sqlite: ALTER TABLE "ticdc_rebuilt" RENAME TO "t"
-- postgresql: ALTER TABLE "s"."t" ADD COLUMN "d" timestamp without time zone NOT NULL
-- mysql: ALTER TABLE `s`.`t` ADD COLUMN `d` datetime NOT NULL DEFAULT CURRENT_TIMESTAMP
