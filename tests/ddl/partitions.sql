-- table: CREATE TABLE t (id INT NOT NULL, v VARCHAR(20), PRIMARY KEY (id)) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100) COMMENT = 'old', PARTITION `p 1` VALUES LESS THAN (200), PARTITION pmax VALUES LESS THAN MAXVALUE)
-- rows: 99, 'a' | 100, 'b' | 199, 'c' | 200, 'd'
-- other: CREATE TABLE x (id INT NOT NULL PRIMARY KEY, v VARCHAR(20))
-- other-rows: 150, 'x' | 151, NULL

-- case: the first range is emptied
ALTER TABLE `t` TRUNCATE PARTITION `p0`
-- sqlite: DELETE FROM "t" WHERE (("id" < 100))
-- postgresql: DELETE FROM "s"."t" WHERE (("id" < 100))
-- mysql: DELETE FROM `s`.`t` WHERE ((`id` < 100))
-- then: 100 b | 199 c | 200 d

-- case: a range in the middle goes
ALTER TABLE t DROP PARTITION `P 1`
-- sqlite: DELETE FROM "t" WHERE (("id" < 200) AND NOT (("id" < 100)))
-- postgresql: DELETE FROM "s"."t" WHERE (("id" < 200) AND NOT (("id" < 100)))
-- mysql: DELETE FROM `s`.`t` WHERE ((`id` < 200) AND NOT ((`id` < 100)))
-- then: 200 d | 99 a

-- case: the last range is emptied
ALTER TABLE t TRUNCATE PARTITION pmax
-- sqlite: DELETE FROM "t" WHERE (NOT (("id" < 200)))
-- postgresql: DELETE FROM "s"."t" WHERE (NOT (("id" < 200)))
-- mysql: DELETE FROM `s`.`t` WHERE (NOT ((`id` < 200)))
-- then: 100 b | 199 c | 99 a

-- case: two ranges are emptied
ALTER TABLE t TRUNCATE PARTITION p0, pmax
-- sqlite: DELETE FROM "t" WHERE (("id" < 100)) OR (NOT (("id" < 200)))
-- postgresql: DELETE FROM "s"."t" WHERE (("id" < 100)) OR (NOT (("id" < 200)))
-- mysql: DELETE FROM `s`.`t` WHERE ((`id` < 100)) OR (NOT ((`id` < 200)))
-- then: 100 b | 199 c

-- case: all partitions are emptied
ALTER TABLE t TRUNCATE PARTITION ALL
-- sqlite: DELETE FROM "t"
-- postgresql: DELETE FROM "s"."t"
-- mysql: DELETE FROM `s`.`t`
-- then:

-- case: a partition that is not there
ALTER TABLE t DROP PARTITION p9
-- stops: has no partition p9

-- case: a partition and a table change their rows
ALTER TABLE `s`.`t` EXCHANGE PARTITION `p 1` WITH TABLE `s`.`x`
-- sqlite: CREATE TEMPORARY TABLE "temp"."ticdc_exchanged" AS SELECT "id", "v" FROM "t" WHERE (("id" < 200) AND NOT (("id" < 100)))
-- sqlite: DELETE FROM "t" WHERE (("id" < 200) AND NOT (("id" < 100)))
-- sqlite: INSERT INTO "t" ("id", "v") SELECT "id", "v" FROM "x"
-- sqlite: DELETE FROM "x"
-- sqlite: INSERT INTO "x" ("id", "v") SELECT "id", "v" FROM "temp"."ticdc_exchanged"
-- sqlite: DROP TABLE "temp"."ticdc_exchanged"
-- postgresql: CREATE TEMPORARY TABLE "pg_temp"."ticdc_exchanged" AS SELECT "id", "v" FROM "s"."t" WHERE (("id" < 200) AND NOT (("id" < 100)))
-- postgresql: DELETE FROM "s"."t" WHERE (("id" < 200) AND NOT (("id" < 100)))
-- postgresql: INSERT INTO "s"."t" ("id", "v") SELECT "id", "v" FROM "s"."x"
-- postgresql: DELETE FROM "s"."x"
-- postgresql: INSERT INTO "s"."x" ("id", "v") SELECT "id", "v" FROM "pg_temp"."ticdc_exchanged"
-- postgresql: DROP TABLE "pg_temp"."ticdc_exchanged"
-- mysql: DROP TEMPORARY TABLE IF EXISTS `s`.`ticdc_exchanged`
-- mysql: CREATE TEMPORARY TABLE `s`.`ticdc_exchanged` AS SELECT `id`, `v` FROM `s`.`t` WHERE ((`id` < 200) AND NOT ((`id` < 100)))
-- mysql: DELETE FROM `s`.`t` WHERE ((`id` < 200) AND NOT ((`id` < 100)))
-- mysql: INSERT INTO `s`.`t` (`id`, `v`) SELECT `id`, `v` FROM `s`.`x`
-- mysql: DELETE FROM `s`.`x`
-- mysql: INSERT INTO `s`.`x` (`id`, `v`) SELECT `id`, `v` FROM `s`.`ticdc_exchanged`
-- mysql: DROP TEMPORARY TABLE `s`.`ticdc_exchanged`
-- then: 150 x | 151 None | 200 d | 99 a
-- then-other: 100 b | 199 c
-- tidb: DROP TEMPORARY TABLE IF EXISTS `s`.`ticdc_exchanged`
-- tidb: SET SESSION tidb_tmp_table_max_size = 137438953472
-- tidb: CREATE TEMPORARY TABLE `s`.`ticdc_exchanged` LIKE `s`.`t`
-- tidb: INSERT INTO `s`.`ticdc_exchanged` (`id`, `v`) SELECT `id`, `v` FROM `s`.`t` WHERE ((`id` < 200) AND NOT ((`id` < 100)))
-- tidb: DELETE FROM `s`.`t` WHERE ((`id` < 200) AND NOT ((`id` < 100)))
-- tidb: INSERT INTO `s`.`t` (`id`, `v`) SELECT `id`, `v` FROM `s`.`x`
-- tidb: DELETE FROM `s`.`x`
-- tidb: INSERT INTO `s`.`x` (`id`, `v`) SELECT `id`, `v` FROM `s`.`ticdc_exchanged`
-- tidb: DROP TEMPORARY TABLE `s`.`ticdc_exchanged`

-- case: they change their rows unseen
ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE x WITHOUT VALIDATION
-- sqlite: CREATE TEMPORARY TABLE "temp"."ticdc_exchanged" AS SELECT "id", "v" FROM "t" WHERE (("id" < 100))
-- sqlite: DELETE FROM "t" WHERE (("id" < 100))
-- sqlite: INSERT INTO "t" ("id", "v") SELECT "id", "v" FROM "x"
-- sqlite: DELETE FROM "x"
-- sqlite: INSERT INTO "x" ("id", "v") SELECT "id", "v" FROM "temp"."ticdc_exchanged"
-- sqlite: DROP TABLE "temp"."ticdc_exchanged"
-- postgresql: CREATE TEMPORARY TABLE "pg_temp"."ticdc_exchanged" AS SELECT "id", "v" FROM "s"."t" WHERE (("id" < 100))
-- postgresql: DELETE FROM "s"."t" WHERE (("id" < 100))
-- postgresql: INSERT INTO "s"."t" ("id", "v") SELECT "id", "v" FROM "s"."x"
-- postgresql: DELETE FROM "s"."x"
-- postgresql: INSERT INTO "s"."x" ("id", "v") SELECT "id", "v" FROM "pg_temp"."ticdc_exchanged"
-- postgresql: DROP TABLE "pg_temp"."ticdc_exchanged"
-- mysql: DROP TEMPORARY TABLE IF EXISTS `s`.`ticdc_exchanged`
-- mysql: CREATE TEMPORARY TABLE `s`.`ticdc_exchanged` AS SELECT `id`, `v` FROM `s`.`t` WHERE ((`id` < 100))
-- mysql: DELETE FROM `s`.`t` WHERE ((`id` < 100))
-- mysql: INSERT INTO `s`.`t` (`id`, `v`) SELECT `id`, `v` FROM `s`.`x`
-- mysql: DELETE FROM `s`.`x`
-- mysql: INSERT INTO `s`.`x` (`id`, `v`) SELECT `id`, `v` FROM `s`.`ticdc_exchanged`
-- mysql: DROP TEMPORARY TABLE `s`.`ticdc_exchanged`
-- then: 100 b | 150 x | 151 None | 199 c | 200 d
-- then-other: 99 a
-- tidb: DROP TEMPORARY TABLE IF EXISTS `s`.`ticdc_exchanged`
-- tidb: SET SESSION tidb_tmp_table_max_size = 137438953472
-- tidb: CREATE TEMPORARY TABLE `s`.`ticdc_exchanged` LIKE `s`.`t`
-- tidb: INSERT INTO `s`.`ticdc_exchanged` (`id`, `v`) SELECT `id`, `v` FROM `s`.`t` WHERE ((`id` < 100))
-- tidb: DELETE FROM `s`.`t` WHERE ((`id` < 100))
-- tidb: INSERT INTO `s`.`t` (`id`, `v`) SELECT `id`, `v` FROM `s`.`x`
-- tidb: DELETE FROM `s`.`x`
-- tidb: INSERT INTO `s`.`x` (`id`, `v`) SELECT `id`, `v` FROM `s`.`ticdc_exchanged`
-- tidb: DROP TEMPORARY TABLE `s`.`ticdc_exchanged`

-- case: a partition is added
ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (300))

-- case: partitions are divided anew
ALTER TABLE t REORGANIZE PARTITION p0, `p 1` INTO (PARTITION p01 VALUES LESS THAN (200))

-- case: other partitions
ALTER TABLE t PARTITION BY HASH(id) PARTITIONS 4

-- case: no partitions any more
ALTER TABLE t REMOVE PARTITIONING

-- table: CREATE TABLE t (id INT PRIMARY KEY, a BIGINT, b INT) PARTITION BY RANGE COLUMNS (a, b) (PARTITION p0 VALUES LESS THAN (10, 5), PARTITION p1 VALUES LESS THAN (10, MAXVALUE), PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))
-- rows: 1, 9, 9 | 2, 10, 4 | 3, 10, 5 | 4, 10, NULL | 5, NULL, 7 | 6, 11, -1

-- case: ranges of two columns, where NULL is the least
ALTER TABLE t TRUNCATE PARTITION p0
-- sqlite: DELETE FROM "t" WHERE (("a" IS NULL OR "a" < 10 OR "a" = 10 AND (("b" IS NULL OR "b" < 5))))
-- postgresql: DELETE FROM "s"."t" WHERE (("a" IS NULL OR "a" < 10 OR "a" = 10 AND (("b" IS NULL OR "b" < 5))))
-- mysql: DELETE FROM `s`.`t` WHERE ((`a` IS NULL OR `a` < 10 OR `a` = 10 AND ((`b` IS NULL OR `b` < 5))))
-- then: 3 10 5 | 6 11 -1

-- case: a range of two columns in the middle
ALTER TABLE t TRUNCATE PARTITION p1
-- sqlite: DELETE FROM "t" WHERE (("a" IS NULL OR "a" < 10 OR "a" = 10) AND NOT (("a" IS NULL OR "a" < 10 OR "a" = 10 AND (("b" IS NULL OR "b" < 5)))))
-- postgresql: DELETE FROM "s"."t" WHERE (("a" IS NULL OR "a" < 10 OR "a" = 10) AND NOT (("a" IS NULL OR "a" < 10 OR "a" = 10 AND (("b" IS NULL OR "b" < 5)))))
-- mysql: DELETE FROM `s`.`t` WHERE ((`a` IS NULL OR `a` < 10 OR `a` = 10) AND NOT ((`a` IS NULL OR `a` < 10 OR `a` = 10 AND ((`b` IS NULL OR `b` < 5)))))
-- then: 1 9 9 | 2 10 4 | 4 10 None | 5 None 7 | 6 11 -1

-- case: the last range of two columns
ALTER TABLE t TRUNCATE PARTITION p2
-- sqlite: DELETE FROM "t" WHERE (NOT (("a" IS NULL OR "a" < 10 OR "a" = 10)))
-- postgresql: DELETE FROM "s"."t" WHERE (NOT (("a" IS NULL OR "a" < 10 OR "a" = 10)))
-- mysql: DELETE FROM `s`.`t` WHERE (NOT ((`a` IS NULL OR `a` < 10 OR `a` = 10)))
-- then: 1 9 9 | 2 10 4 | 3 10 5 | 4 10 None | 5 None 7

-- table: CREATE TABLE t (id INT PRIMARY KEY, d DATE NOT NULL) PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN (YEAR('2024-05-05')))
-- rows: 1, '2019-12-31' | 2, '2020-01-01' | 3, '2023-12-31'

-- case: ranges of years
ALTER TABLE t DROP PARTITION p0
-- sqlite: DELETE FROM "t" WHERE (("d" < '2020-01-01'))
-- postgresql: DELETE FROM "s"."t" WHERE (("d" < '2020-01-01'))
-- mysql: DELETE FROM `s`.`t` WHERE ((`d` < '2020-01-01'))
-- then: 2 2020-01-01 | 3 2023-12-31

-- table: CREATE TABLE t (id INT PRIMARY KEY, d DATETIME(3)) PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (TO_DAYS('2020-01-01')), PARTITION p1 VALUES LESS THAN (738000), PARTITION p2 VALUES LESS THAN (MAXVALUE))
-- rows: 1, '2019-12-31 23:59:59.999' | 2, '2020-01-01 00:00:00.000' | 3, NULL | 4, '2020-07-27 00:00:00.000'

-- case: ranges of days
ALTER TABLE t TRUNCATE PARTITION p1
-- then.sqlite: 1 2019-12-31 23:59:59.999 | 3 None
-- then: 1 2019-12-31 23:59:59.999000 | 3 None
-- sqlite: DELETE FROM "t" WHERE (("d" IS NULL OR "d" < '2020-07-29 00:00:00.000') AND NOT (("d" IS NULL OR "d" < '2020-01-01 00:00:00.000')))
-- postgresql: DELETE FROM "s"."t" WHERE (("d" IS NULL OR "d" < '2020-07-29 00:00:00.000') AND NOT (("d" IS NULL OR "d" < '2020-01-01 00:00:00.000')))
-- mysql: DELETE FROM `s`.`t` WHERE ((`d` IS NULL OR `d` < '2020-07-29 00:00:00.000') AND NOT ((`d` IS NULL OR `d` < '2020-01-01 00:00:00.000')))

-- case: ranges of days, where NULL is in the first
ALTER TABLE t TRUNCATE PARTITION p0
-- then.sqlite: 2 2020-01-01 00:00:00.000 | 4 2020-07-27 00:00:00.000
-- then: 2 2020-01-01 00:00:00 | 4 2020-07-27 00:00:00
-- sqlite: DELETE FROM "t" WHERE (("d" IS NULL OR "d" < '2020-01-01 00:00:00.000'))
-- postgresql: DELETE FROM "s"."t" WHERE (("d" IS NULL OR "d" < '2020-01-01 00:00:00.000'))
-- mysql: DELETE FROM `s`.`t` WHERE ((`d` IS NULL OR `d` < '2020-01-01 00:00:00.000'))

-- table: CREATE TABLE t (id INT PRIMARY KEY, d TIMESTAMP NOT NULL) PARTITION BY RANGE (UNIX_TIMESTAMP(d)) (PARTITION p0 VALUES LESS THAN (1577836800), PARTITION p1 VALUES LESS THAN (MAXVALUE))
-- rows: 1, '2019-12-31 23:59:59' | 2, '2020-01-01 00:00:00'

-- case: ranges of moments
ALTER TABLE t DROP PARTITION p0
-- then.postgresql: 2 2020-01-01 00:00:00+00:00
-- then: 2 2020-01-01 00:00:00
-- sqlite: DELETE FROM "t" WHERE (("d" < '2020-01-01 00:00:00'))
-- postgresql: DELETE FROM "s"."t" WHERE (("d" < '2020-01-01 00:00:00+00'))
-- mysql: DELETE FROM `s`.`t` WHERE ((`d` < '2020-01-01 00:00:00'))

-- table: CREATE TABLE t (id INT PRIMARY KEY, d TIMESTAMP NOT NULL) PARTITION BY RANGE (UNIX_TIMESTAMP(d)) (PARTITION p0 VALUES LESS THAN (UNIX_TIMESTAMP('2020-01-01 00:00:00')), PARTITION p1 VALUES LESS THAN (MAXVALUE))
-- rows: 1, '2019-12-31 23:59:59'

-- case: ranges of moments in an unknown time zone
ALTER TABLE t TRUNCATE PARTITION p0
-- stops: it is not certain which rows of

-- table: CREATE TABLE t (id INT PRIMARY KEY, d DATE, s VARCHAR(10) NOT NULL) COLLATE = utf8mb4_bin PARTITION BY RANGE COLUMNS (d, s) (PARTITION p0 VALUES LESS THAN ('2024-02-01', 'm'), PARTITION p1 VALUES LESS THAN (MAXVALUE, MAXVALUE))
-- rows: 1, '2024-01-31', 'z' | 2, '2024-02-01', 'l ' | 3, '2024-02-01', 'm  ' | 4, NULL, 'é'

-- case: ranges of dates and texts
ALTER TABLE t DROP PARTITION p0
-- then: 3 2024-02-01 m  
-- sqlite: DELETE FROM "t" WHERE (("d" IS NULL OR "d" < '2024-02-01' OR "d" = '2024-02-01' AND ((rtrim("s", ' ') < 'm'))))
-- postgresql: DELETE FROM "s"."t" WHERE (("d" IS NULL OR "d" < '2024-02-01' OR "d" = '2024-02-01' AND ((rtrim("s", ' ') COLLATE "C" < 'm'))))
-- mysql: DELETE FROM `s`.`t` WHERE ((`d` IS NULL OR `d` < '2024-02-01' OR `d` = '2024-02-01' AND ((`s` < 'm'))))

-- table: CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10) COLLATE utf8mb4_general_ci) PARTITION BY RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('m'))
-- rows: 1, 'a'

-- case: ranges of texts in any case
ALTER TABLE t TRUNCATE PARTITION p0
-- stops: the order of utf8mb4_general_ci is not computed here

-- table: CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10)) COLLATE = utf8mb4_general_ci DEFAULT CHARSET = utf8mb4 PARTITION BY RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('m'))
-- rows: 1, 'a'

-- case: texts of a table whose collation comes before its charset
ALTER TABLE t TRUNCATE PARTITION p0
-- stops: the order of utf8mb4_general_ci is not computed here

-- table: CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10)) PARTITION BY RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('m'))
-- rows: 1, 'a'

-- case: texts of a table that has its database's collation
ALTER TABLE t TRUNCATE PARTITION p0
-- stops: column s: its collation is that of its database, which the stream does not carry

-- table: CREATE TABLE t (id INT PRIMARY KEY, d DATE) PARTITION BY LIST (YEAR(d)) (PARTITION p23 VALUES IN (2023), PARTITION pd DEFAULT)
-- rows: 1, '2023-06-15' | 2, '2024-01-01'

-- case: a list of years
ALTER TABLE t TRUNCATE PARTITION p23
-- stops: partitions by LIST of year() are not computed here

-- table: CREATE TABLE t (a VARCHAR(10), b INT, PRIMARY KEY (a, b)) DEFAULT CHARSET = utf8mb4 PARTITION BY LIST COLUMNS (a) (PARTITION pa VALUES IN (_UTF8MB4'a', _UTF8MB4'it''s'), PARTITION pb VALUES IN ('c'), PARTITION pd VALUES IN (DEFAULT))
-- rows: 'a', 1 | 'a ', 2 | 'it''s', 3 | 'c', 4 | 'C', 5 | 'x', 6

-- case: a list of texts
ALTER TABLE t TRUNCATE PARTITION pa
-- sqlite: DELETE FROM "t" WHERE ((rtrim("a", ' ') = 'a') OR (rtrim("a", ' ') = 'it''s'))
-- postgresql: DELETE FROM "s"."t" WHERE ((rtrim("a", ' ') COLLATE "C" = 'a') OR (rtrim("a", ' ') COLLATE "C" = 'it''s'))
-- mysql: DELETE FROM `s`.`t` WHERE ((`a` = 'a') OR (`a` = 'it''s'))
-- then: C 5 | c 4 | x 6

-- case: what no list holds
ALTER TABLE t DROP PARTITION pd
-- sqlite: DELETE FROM "t" WHERE (NOT ((rtrim("a", ' ') = 'a') OR (rtrim("a", ' ') = 'it''s') OR (rtrim("a", ' ') = 'c')))
-- postgresql: DELETE FROM "s"."t" WHERE (NOT ((rtrim("a", ' ') COLLATE "C" = 'a') OR (rtrim("a", ' ') COLLATE "C" = 'it''s') OR (rtrim("a", ' ') COLLATE "C" = 'c')))
-- mysql: DELETE FROM `s`.`t` WHERE (NOT ((`a` = 'a') OR (`a` = 'it''s') OR (`a` = 'c')))
-- then: a 1 | a  2 | c 4 | it's 3

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT, b BIGINT UNSIGNED) PARTITION BY LIST COLUMNS (a, b) (PARTITION p0 VALUES IN ((1, 18446744073709551615), (NULL, 7)), PARTITION p1 VALUES IN ((2, NULL)))
-- rows: 1, 1, '18446744073709551615' | 2, 1, '7' | 3, NULL, '7' | 4, 2, NULL

-- case: a list of pairs
ALTER TABLE t DROP PARTITION p0
-- then: 2 1 7 | 4 2 None
-- sqlite: DELETE FROM "t" WHERE (("a" IS NOT NULL AND "a" = 1 AND substr('00000000000000000000' || "b", -20) IS NOT NULL AND substr('00000000000000000000' || "b", -20) = '18446744073709551615') OR ("a" IS NULL AND substr('00000000000000000000' || "b", -20) IS NOT NULL AND substr('00000000000000000000' || "b", -20) = '00000000000000000007'))
-- postgresql: DELETE FROM "s"."t" WHERE (("a" IS NOT NULL AND "a" = 1 AND "b" IS NOT NULL AND "b" = 18446744073709551615) OR ("a" IS NULL AND "b" IS NOT NULL AND "b" = 7))
-- mysql: DELETE FROM `s`.`t` WHERE ((`a` IS NOT NULL AND `a` = 1 AND `b` IS NOT NULL AND `b` = 18446744073709551615) OR (`a` IS NULL AND `b` IS NOT NULL AND `b` = 7))

-- case: a list of pairs with NULL
ALTER TABLE t DROP PARTITION p1
-- then: 1 1 18446744073709551615 | 2 1 7 | 3 None 7
-- sqlite: DELETE FROM "t" WHERE (("a" IS NOT NULL AND "a" = 2 AND substr('00000000000000000000' || "b", -20) IS NULL))
-- postgresql: DELETE FROM "s"."t" WHERE (("a" IS NOT NULL AND "a" = 2 AND "b" IS NULL))
-- mysql: DELETE FROM `s`.`t` WHERE ((`a` IS NOT NULL AND `a` = 2 AND `b` IS NULL))

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT) PARTITION BY LIST (a) (PARTITION p0 VALUES IN (1, -2, NULL), PARTITION p1 VALUES IN (3))
-- rows: 1, 1 | 2, -2 | 3, NULL | 4, 3

-- case: a list of numbers
ALTER TABLE t TRUNCATE PARTITION p0
-- sqlite: DELETE FROM "t" WHERE (("a" IS NOT NULL AND "a" = 1) OR ("a" IS NOT NULL AND "a" = -2) OR ("a" IS NULL))
-- postgresql: DELETE FROM "s"."t" WHERE (("a" IS NOT NULL AND "a" = 1) OR ("a" IS NOT NULL AND "a" = -2) OR ("a" IS NULL))
-- mysql: DELETE FROM `s`.`t` WHERE ((`a` IS NOT NULL AND `a` = 1) OR (`a` IS NOT NULL AND `a` = -2) OR (`a` IS NULL))
-- then: 4 3

-- table: CREATE TABLE t (id BIGINT NOT NULL, u BIGINT UNSIGNED NOT NULL, PRIMARY KEY (u)) PARTITION BY RANGE (u) (PARTITION p0 VALUES LESS THAN (9223372036854775808), PARTITION p1 VALUES LESS THAN (18446744073709551615))
-- rows: 1, '7' | 2, '9223372036854775807' | 3, '9223372036854775808' | 4, '10000000000000000000'

-- case: ranges of unsigned numbers
ALTER TABLE t DROP PARTITION p0
-- then: 3 9223372036854775808 | 4 10000000000000000000
-- sqlite: DELETE FROM "t" WHERE ((substr('00000000000000000000' || "u", -20) < '09223372036854775808'))
-- postgresql: DELETE FROM "s"."t" WHERE (("u" < 9223372036854775808))
-- mysql: DELETE FROM `s`.`t` WHERE ((`u` < 9223372036854775808))

-- table: CREATE TABLE t (id INT PRIMARY KEY, a INT) PARTITION BY HASH (a) PARTITIONS 3
-- rows: 1, 3 | 2, 4 | 3, -4 | 4, NULL | 5, 5
-- other: CREATE TABLE x (id INT PRIMARY KEY, a INT)
-- other-rows: 9, 7

-- case: partitions by hash
ALTER TABLE t TRUNCATE PARTITION p1
-- sqlite: DELETE FROM "t" WHERE (coalesce(abs("a" % 3), 0) = 1)
-- postgresql: DELETE FROM "s"."t" WHERE (coalesce(abs("a" % 3), 0) = 1)
-- mysql: DELETE FROM `s`.`t` WHERE (coalesce(abs(`a` % 3), 0) = 1)
-- then: 1 3 | 4 None | 5 5

-- case: NULL is in the first partition by hash
ALTER TABLE t TRUNCATE PARTITION p0
-- sqlite: DELETE FROM "t" WHERE (coalesce(abs("a" % 3), 0) = 0)
-- postgresql: DELETE FROM "s"."t" WHERE (coalesce(abs("a" % 3), 0) = 0)
-- mysql: DELETE FROM `s`.`t` WHERE (coalesce(abs(`a` % 3), 0) = 0)
-- then: 2 4 | 3 -4 | 5 5

-- case: a partition by hash and a table
ALTER TABLE t EXCHANGE PARTITION p2 WITH TABLE x
-- sqlite: CREATE TEMPORARY TABLE "temp"."ticdc_exchanged" AS SELECT "id", "a" FROM "t" WHERE (coalesce(abs("a" % 3), 0) = 2)
-- sqlite: DELETE FROM "t" WHERE (coalesce(abs("a" % 3), 0) = 2)
-- sqlite: INSERT INTO "t" ("id", "a") SELECT "id", "a" FROM "x"
-- sqlite: DELETE FROM "x"
-- sqlite: INSERT INTO "x" ("id", "a") SELECT "id", "a" FROM "temp"."ticdc_exchanged"
-- sqlite: DROP TABLE "temp"."ticdc_exchanged"
-- postgresql: CREATE TEMPORARY TABLE "pg_temp"."ticdc_exchanged" AS SELECT "id", "a" FROM "s"."t" WHERE (coalesce(abs("a" % 3), 0) = 2)
-- postgresql: DELETE FROM "s"."t" WHERE (coalesce(abs("a" % 3), 0) = 2)
-- postgresql: INSERT INTO "s"."t" ("id", "a") SELECT "id", "a" FROM "s"."x"
-- postgresql: DELETE FROM "s"."x"
-- postgresql: INSERT INTO "s"."x" ("id", "a") SELECT "id", "a" FROM "pg_temp"."ticdc_exchanged"
-- postgresql: DROP TABLE "pg_temp"."ticdc_exchanged"
-- mysql: DROP TEMPORARY TABLE IF EXISTS `s`.`ticdc_exchanged`
-- mysql: CREATE TEMPORARY TABLE `s`.`ticdc_exchanged` AS SELECT `id`, `a` FROM `s`.`t` WHERE (coalesce(abs(`a` % 3), 0) = 2)
-- mysql: DELETE FROM `s`.`t` WHERE (coalesce(abs(`a` % 3), 0) = 2)
-- mysql: INSERT INTO `s`.`t` (`id`, `a`) SELECT `id`, `a` FROM `s`.`x`
-- mysql: DELETE FROM `s`.`x`
-- mysql: INSERT INTO `s`.`x` (`id`, `a`) SELECT `id`, `a` FROM `s`.`ticdc_exchanged`
-- mysql: DROP TEMPORARY TABLE `s`.`ticdc_exchanged`
-- then: 1 3 | 2 4 | 3 -4 | 4 None | 9 7
-- then-other: 5 5
-- tidb: DROP TEMPORARY TABLE IF EXISTS `s`.`ticdc_exchanged`
-- tidb: SET SESSION tidb_tmp_table_max_size = 137438953472
-- tidb: CREATE TEMPORARY TABLE `s`.`ticdc_exchanged` LIKE `s`.`t`
-- tidb: INSERT INTO `s`.`ticdc_exchanged` (`id`, `a`) SELECT `id`, `a` FROM `s`.`t` WHERE (coalesce(abs(`a` % 3), 0) = 2)
-- tidb: DELETE FROM `s`.`t` WHERE (coalesce(abs(`a` % 3), 0) = 2)
-- tidb: INSERT INTO `s`.`t` (`id`, `a`) SELECT `id`, `a` FROM `s`.`x`
-- tidb: DELETE FROM `s`.`x`
-- tidb: INSERT INTO `s`.`x` (`id`, `a`) SELECT `id`, `a` FROM `s`.`ticdc_exchanged`
-- tidb: DROP TEMPORARY TABLE `s`.`ticdc_exchanged`

-- case: more partitions by hash
ALTER TABLE t ADD PARTITION PARTITIONS 2

-- case: fewer partitions by hash
ALTER TABLE t COALESCE PARTITION 1

-- table: CREATE TABLE t (id BIGINT PRIMARY KEY) PARTITION BY KEY (id) PARTITIONS 2
-- rows: 1 | 2

-- case: partitions by key
ALTER TABLE t TRUNCATE PARTITION p0
-- stops: is not computed here

-- case: all partitions by key
ALTER TABLE t TRUNCATE PARTITION ALL
-- sqlite: DELETE FROM "t"
-- postgresql: DELETE FROM "s"."t"
-- mysql: DELETE FROM `s`.`t`
-- then:

-- table: CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id + 1) PARTITIONS 2
-- rows: 1 | 2

-- case: partitions by an expression
ALTER TABLE t TRUNCATE PARTITION p0
-- stops: it is not certain which rows of

-- table: CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) INTERVAL (100) FIRST PARTITION LESS THAN (100) LAST PARTITION LESS THAN (1000)
-- rows: 1 | 200

-- case: partitions by interval
ALTER TABLE t DROP PARTITION P_LT_100
-- stops: it is not certain which rows of

-- case: the first of the partitions by interval
ALTER TABLE t FIRST PARTITION LESS THAN (200)
-- stops: 'FIRST' is not translated

-- table: CREATE TABLE t (id INT PRIMARY KEY)
-- rows: 1

-- case: a table without partitions
ALTER TABLE t TRUNCATE PARTITION p0
-- stops: it is not certain which rows of
