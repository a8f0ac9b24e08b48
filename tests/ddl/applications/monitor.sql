-- A monitoring tool: wide tables of numbers, keys as given numbers, texts in utf8 with bytewise order, foreign keys to all sides,
-- partitions by day, a dump that begins with the children, and a table with 500 columns, each with a comment.
CREATE DATABASE app_monitor CHARACTER SET utf8 COLLATE utf8_bin;
USE app_monitor;
SET foreign_key_checks = 0;
-- A dump: tables in the order of their names.
CREATE TABLE functions (
  functionid bigint unsigned NOT NULL,
  itemid bigint unsigned NOT NULL,
  triggerid bigint unsigned NOT NULL,
  name varchar(12) DEFAULT '' NOT NULL,
  parameter varchar(255) DEFAULT '0' NOT NULL,
  PRIMARY KEY (functionid),
  KEY functions_1 (triggerid),
  KEY functions_2 (itemid, name, parameter),
  CONSTRAINT c_functions_1 FOREIGN KEY (itemid) REFERENCES items (itemid) ON DELETE CASCADE,
  CONSTRAINT c_functions_2 FOREIGN KEY (triggerid) REFERENCES triggers (triggerid) ON DELETE CASCADE
);
INSERT INTO functions VALUES (1, 10, 100, 'last', '#1'), (2, 11, 100, 'avg', '5m'), (3, 99, 999, 'gone', '\\d+\\.\\d');
CREATE TABLE hosts (
  hostid bigint unsigned NOT NULL,
  host varchar(128) DEFAULT '' NOT NULL,
  status integer DEFAULT '0' NOT NULL,
  error varchar(128) DEFAULT '' NOT NULL,
  available integer DEFAULT 0 NOT NULL,
  maintenanceid bigint unsigned NULL,
  PRIMARY KEY (hostid),
  UNIQUE KEY hosts_1 (host)
);
INSERT INTO hosts VALUES (5, 'web-1', 0, '', 1, NULL), (6, 'Web-1', 0, 'näh', 2, 77);
CREATE TABLE items (
  itemid bigint unsigned NOT NULL,
  hostid bigint unsigned NOT NULL,
  type integer DEFAULT '0' NOT NULL,
  name varchar(255) DEFAULT '' NOT NULL,
  key_ varchar(2048) DEFAULT '' NOT NULL,
  delay varchar(1024) DEFAULT '0' NOT NULL,
  units varchar(255) DEFAULT '' NOT NULL,
  formula varchar(255) DEFAULT '1' NOT NULL,
  PRIMARY KEY (itemid),
  KEY items_1 (hostid, key_(764)),
  CONSTRAINT c_items_1 FOREIGN KEY (hostid) REFERENCES hosts (hostid) ON DELETE CASCADE
);
INSERT INTO items VALUES (10, 5, 0, 'CPU', 'system.cpu.util[,user]', '30s', '%', '1'), (11, 6, 0, 'Disk', 'vfs.fs.size["C:\\",free]', '1m', 'B', '1');
CREATE TABLE triggers (
  triggerid bigint unsigned NOT NULL,
  expression varchar(2048) DEFAULT '' NOT NULL,
  description varchar(255) DEFAULT '' NOT NULL,
  priority integer DEFAULT '0' NOT NULL,
  lastchange integer DEFAULT '0' NOT NULL,
  comments text NOT NULL,
  PRIMARY KEY (triggerid)
);
INSERT INTO triggers VALUES (100, '{1}>5 and {2}<3', 'Too hot', 3, 1700000000, '');
SET foreign_key_checks = 1;
-- look
INSERT INTO functions VALUES (4, 10, 100, 'min', '');
DELETE FROM functions WHERE functionid = 3;
CREATE TABLE history (
  itemid bigint unsigned NOT NULL, clock integer DEFAULT '0' NOT NULL, value double DEFAULT '0.0000' NOT NULL, ns integer DEFAULT '0' NOT NULL,
  PRIMARY KEY (itemid, clock, ns)
) PARTITION BY RANGE (clock) (PARTITION d1 VALUES LESS THAN (1700086400), PARTITION d2 VALUES LESS THAN (1700172800));
INSERT INTO history VALUES (10, 1700000000, 0.1, 1), (10, 1700086400, 1e300, 2), (11, 1700086401, -2.5, 999999999);
ALTER TABLE history ADD PARTITION (PARTITION d3 VALUES LESS THAN (1700259200));
INSERT INTO history VALUES (11, 1700200000, 3, 0);
ALTER TABLE history DROP PARTITION d1;
CREATE TABLE history_text (
  id bigint unsigned NOT NULL, itemid bigint unsigned NOT NULL, clock integer DEFAULT '0' NOT NULL, value longtext NOT NULL,
  ns integer DEFAULT '0' NOT NULL, PRIMARY KEY (id) NONCLUSTERED, UNIQUE INDEX history_text_2 (itemid, id), INDEX history_text_1 (itemid, clock)
);
INSERT INTO history_text VALUES (1, 10, 1, 'line\n\\n', 0), (2, 10, 2, '', 0);
ALTER TABLE history_text DROP PRIMARY KEY;
ALTER TABLE history_text ADD PRIMARY KEY (itemid, clock, ns);
ALTER TABLE history_text DROP INDEX history_text_2;
ALTER TABLE history_text DROP COLUMN id;
INSERT INTO history_text VALUES (11, 5, 'x', 7);
CREATE TABLE trends (
  itemid bigint unsigned NOT NULL, clock integer DEFAULT '0' NOT NULL, num integer DEFAULT '0' NOT NULL,
  value_min double(16,4) DEFAULT '0.0000' NOT NULL, value_avg double(16,4) DEFAULT '0.0000' NOT NULL, value_max double(16,4) DEFAULT '0.0000' NOT NULL,
  PRIMARY KEY (itemid, clock)
);
INSERT INTO trends VALUES (10, 3600, 60, 0.1234, 1.5, 2), (11, 3600, 1, -1, -1, -1);
ALTER TABLE trends MODIFY value_min double DEFAULT '0' NOT NULL, MODIFY value_avg double DEFAULT '0' NOT NULL, MODIFY value_max double DEFAULT '0' NOT NULL;
-- look
ALTER TABLE hosts ADD name varchar(128) DEFAULT '' NOT NULL, ADD flags integer DEFAULT '0' NOT NULL;
UPDATE hosts SET name = host;
ALTER TABLE hosts ADD INDEX hosts_4 (name), ADD templateid bigint unsigned NULL;
ALTER TABLE hosts ADD CONSTRAINT c_hosts_3 FOREIGN KEY (templateid) REFERENCES hosts (hostid) ON DELETE CASCADE;
INSERT INTO hosts (hostid, host, templateid) VALUES (7, 'db', 5);
UPDATE hosts SET hostid = 8 WHERE hostid = 6 AND NOT EXISTS (SELECT 1 FROM items WHERE hostid = 6);
ALTER TABLE hosts MODIFY COLUMN error varchar(2048) DEFAULT '' NOT NULL, ALTER COLUMN available SET DEFAULT 1;
ALTER TABLE hosts DROP COLUMN maintenanceid, ADD uuid varchar(32) DEFAULT '' NOT NULL AFTER status;
ALTER TABLE items MODIFY COLUMN formula varchar(255) DEFAULT '' NOT NULL, ADD params text NULL, ADD description text NULL;
UPDATE items SET params = '', description = '';
ALTER TABLE items MODIFY params text NOT NULL, MODIFY description text NOT NULL;
ALTER TABLE items ADD lifetime varchar(255) DEFAULT '30d' NOT NULL, ADD master_itemid bigint unsigned NULL;
CREATE INDEX items_7 ON items (master_itemid);
ALTER TABLE items CHANGE COLUMN type kind tinyint unsigned DEFAULT 0 NOT NULL;
ALTER TABLE items ADD CONSTRAINT c_items_5 FOREIGN KEY (master_itemid) REFERENCES items (itemid) ON DELETE CASCADE;
INSERT INTO items (itemid, hostid, name, key_, params, description, master_itemid) VALUES (12, 7, 'Sub', 'dep', 'a=1', '', 10);
ALTER TABLE triggers CHANGE description title varchar(255) DEFAULT '' NOT NULL, ADD recovery varchar(255) DEFAULT '' NOT NULL, ADD url varchar(255) DEFAULT '' NOT NULL;
ALTER TABLE triggers ADD correlation_tag varchar(255) DEFAULT 'a\\b' NOT NULL, ADD manual_close integer DEFAULT '0' NOT NULL;
ALTER TABLE triggers ADD event_name varchar(2048) DEFAULT '' NOT NULL AFTER title;
-- look
-- Keys near the limit of 3072 bytes, of texts whose characters take three or one.
CREATE TABLE profiles (
  profileid bigint unsigned NOT NULL, userid bigint unsigned NOT NULL, idx varchar(96) DEFAULT '' NOT NULL, source varchar(255) DEFAULT '' NOT NULL,
  value_str text NOT NULL, path varchar(1000) DEFAULT NULL, host varchar(3000) CHARACTER SET latin1 DEFAULT NULL,
  PRIMARY KEY (profileid), UNIQUE KEY profiles_path (path), KEY profiles_host (host)
);
INSERT INTO profiles VALUES (1, 1, 'web.menu', '', '', REPEAT('é', 1000), 'one'), (2, 1, 'web.menu', 'x', 'y', NULL, REPEAT('z', 3000));
ALTER TABLE profiles ADD idx2 bigint unsigned DEFAULT '0' NOT NULL, ADD value_id bigint unsigned DEFAULT '0' NOT NULL;
CREATE TABLE tags (tagid bigint unsigned NOT NULL, tag varchar(255) NOT NULL, value varchar(255) NOT NULL, scope varchar(255) NOT NULL, place varchar(255) NOT NULL, PRIMARY KEY (tagid));
ALTER TABLE tags ADD UNIQUE INDEX tags_all (tag, value, scope, place);
INSERT INTO tags VALUES (1, 'env', 'prod', '', ''), (2, 'env', 'Prod', '', '');
ALTER TABLE tags ADD automatic integer DEFAULT '0' NOT NULL;
CREATE TABLE ids (table_name varchar(64) DEFAULT '' NOT NULL, field_name varchar(64) DEFAULT '' NOT NULL, nextid bigint unsigned NOT NULL, PRIMARY KEY (table_name, field_name));
INSERT INTO ids VALUES ('hosts', 'hostid', 8);
REPLACE INTO ids VALUES ('hosts', 'hostid', 9);
-- look
CREATE TABLE wide (
  id int NOT NULL PRIMARY KEY,
  c001 varchar(20) DEFAULT NULL COMMENT 'it''s text 1', c002 int DEFAULT NULL COMMENT 'count 2', c003 datetime DEFAULT NULL COMMENT 'since 3',
  c004 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 4 %', c005 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "5"', c006 varchar(20) DEFAULT NULL COMMENT 'it''s text 6',
  c007 int DEFAULT NULL COMMENT 'count 7', c008 datetime DEFAULT NULL COMMENT 'since 8', c009 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 9 %',
  c010 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "10"', c011 varchar(20) DEFAULT NULL COMMENT 'it''s text 11', c012 int DEFAULT NULL COMMENT 'count 12',
  c013 datetime DEFAULT NULL COMMENT 'since 13', c014 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 14 %', c015 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "15"',
  c016 varchar(20) DEFAULT NULL COMMENT 'it''s text 16', c017 int DEFAULT NULL COMMENT 'count 17', c018 datetime DEFAULT NULL COMMENT 'since 18',
  c019 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 19 %', c020 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "20"', c021 varchar(20) DEFAULT NULL COMMENT 'it''s text 21',
  c022 int DEFAULT NULL COMMENT 'count 22', c023 datetime DEFAULT NULL COMMENT 'since 23', c024 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 24 %',
  c025 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "25"', c026 varchar(20) DEFAULT NULL COMMENT 'it''s text 26', c027 int DEFAULT NULL COMMENT 'count 27',
  c028 datetime DEFAULT NULL COMMENT 'since 28', c029 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 29 %', c030 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "30"',
  c031 varchar(20) DEFAULT NULL COMMENT 'it''s text 31', c032 int DEFAULT NULL COMMENT 'count 32', c033 datetime DEFAULT NULL COMMENT 'since 33',
  c034 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 34 %', c035 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "35"', c036 varchar(20) DEFAULT NULL COMMENT 'it''s text 36',
  c037 int DEFAULT NULL COMMENT 'count 37', c038 datetime DEFAULT NULL COMMENT 'since 38', c039 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 39 %',
  c040 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "40"', c041 varchar(20) DEFAULT NULL COMMENT 'it''s text 41', c042 int DEFAULT NULL COMMENT 'count 42',
  c043 datetime DEFAULT NULL COMMENT 'since 43', c044 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 44 %', c045 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "45"',
  c046 varchar(20) DEFAULT NULL COMMENT 'it''s text 46', c047 int DEFAULT NULL COMMENT 'count 47', c048 datetime DEFAULT NULL COMMENT 'since 48',
  c049 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 49 %', c050 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "50"', c051 varchar(20) DEFAULT NULL COMMENT 'it''s text 51',
  c052 int DEFAULT NULL COMMENT 'count 52', c053 datetime DEFAULT NULL COMMENT 'since 53', c054 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 54 %',
  c055 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "55"', c056 varchar(20) DEFAULT NULL COMMENT 'it''s text 56', c057 int DEFAULT NULL COMMENT 'count 57',
  c058 datetime DEFAULT NULL COMMENT 'since 58', c059 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 59 %', c060 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "60"',
  c061 varchar(20) DEFAULT NULL COMMENT 'it''s text 61', c062 int DEFAULT NULL COMMENT 'count 62', c063 datetime DEFAULT NULL COMMENT 'since 63',
  c064 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 64 %', c065 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "65"', c066 varchar(20) DEFAULT NULL COMMENT 'it''s text 66',
  c067 int DEFAULT NULL COMMENT 'count 67', c068 datetime DEFAULT NULL COMMENT 'since 68', c069 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 69 %',
  c070 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "70"', c071 varchar(20) DEFAULT NULL COMMENT 'it''s text 71', c072 int DEFAULT NULL COMMENT 'count 72',
  c073 datetime DEFAULT NULL COMMENT 'since 73', c074 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 74 %', c075 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "75"',
  c076 varchar(20) DEFAULT NULL COMMENT 'it''s text 76', c077 int DEFAULT NULL COMMENT 'count 77', c078 datetime DEFAULT NULL COMMENT 'since 78',
  c079 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 79 %', c080 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "80"', c081 varchar(20) DEFAULT NULL COMMENT 'it''s text 81',
  c082 int DEFAULT NULL COMMENT 'count 82', c083 datetime DEFAULT NULL COMMENT 'since 83', c084 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 84 %',
  c085 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "85"', c086 varchar(20) DEFAULT NULL COMMENT 'it''s text 86', c087 int DEFAULT NULL COMMENT 'count 87',
  c088 datetime DEFAULT NULL COMMENT 'since 88', c089 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 89 %', c090 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "90"',
  c091 varchar(20) DEFAULT NULL COMMENT 'it''s text 91', c092 int DEFAULT NULL COMMENT 'count 92', c093 datetime DEFAULT NULL COMMENT 'since 93',
  c094 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 94 %', c095 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "95"', c096 varchar(20) DEFAULT NULL COMMENT 'it''s text 96',
  c097 int DEFAULT NULL COMMENT 'count 97', c098 datetime DEFAULT NULL COMMENT 'since 98', c099 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 99 %',
  c100 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "100"', c101 varchar(20) DEFAULT NULL COMMENT 'it''s text 101', c102 int DEFAULT NULL COMMENT 'count 102',
  c103 datetime DEFAULT NULL COMMENT 'since 103', c104 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 104 %', c105 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "105"',
  c106 varchar(20) DEFAULT NULL COMMENT 'it''s text 106', c107 int DEFAULT NULL COMMENT 'count 107', c108 datetime DEFAULT NULL COMMENT 'since 108',
  c109 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 109 %', c110 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "110"', c111 varchar(20) DEFAULT NULL COMMENT 'it''s text 111',
  c112 int DEFAULT NULL COMMENT 'count 112', c113 datetime DEFAULT NULL COMMENT 'since 113', c114 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 114 %',
  c115 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "115"', c116 varchar(20) DEFAULT NULL COMMENT 'it''s text 116', c117 int DEFAULT NULL COMMENT 'count 117',
  c118 datetime DEFAULT NULL COMMENT 'since 118', c119 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 119 %', c120 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "120"',
  c121 varchar(20) DEFAULT NULL COMMENT 'it''s text 121', c122 int DEFAULT NULL COMMENT 'count 122', c123 datetime DEFAULT NULL COMMENT 'since 123',
  c124 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 124 %', c125 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "125"', c126 varchar(20) DEFAULT NULL COMMENT 'it''s text 126',
  c127 int DEFAULT NULL COMMENT 'count 127', c128 datetime DEFAULT NULL COMMENT 'since 128', c129 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 129 %',
  c130 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "130"', c131 varchar(20) DEFAULT NULL COMMENT 'it''s text 131', c132 int DEFAULT NULL COMMENT 'count 132',
  c133 datetime DEFAULT NULL COMMENT 'since 133', c134 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 134 %', c135 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "135"',
  c136 varchar(20) DEFAULT NULL COMMENT 'it''s text 136', c137 int DEFAULT NULL COMMENT 'count 137', c138 datetime DEFAULT NULL COMMENT 'since 138',
  c139 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 139 %', c140 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "140"', c141 varchar(20) DEFAULT NULL COMMENT 'it''s text 141',
  c142 int DEFAULT NULL COMMENT 'count 142', c143 datetime DEFAULT NULL COMMENT 'since 143', c144 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 144 %',
  c145 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "145"', c146 varchar(20) DEFAULT NULL COMMENT 'it''s text 146', c147 int DEFAULT NULL COMMENT 'count 147',
  c148 datetime DEFAULT NULL COMMENT 'since 148', c149 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 149 %', c150 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "150"',
  c151 varchar(20) DEFAULT NULL COMMENT 'it''s text 151', c152 int DEFAULT NULL COMMENT 'count 152', c153 datetime DEFAULT NULL COMMENT 'since 153',
  c154 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 154 %', c155 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "155"', c156 varchar(20) DEFAULT NULL COMMENT 'it''s text 156',
  c157 int DEFAULT NULL COMMENT 'count 157', c158 datetime DEFAULT NULL COMMENT 'since 158', c159 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 159 %',
  c160 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "160"', c161 varchar(20) DEFAULT NULL COMMENT 'it''s text 161', c162 int DEFAULT NULL COMMENT 'count 162',
  c163 datetime DEFAULT NULL COMMENT 'since 163', c164 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 164 %', c165 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "165"',
  c166 varchar(20) DEFAULT NULL COMMENT 'it''s text 166', c167 int DEFAULT NULL COMMENT 'count 167', c168 datetime DEFAULT NULL COMMENT 'since 168',
  c169 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 169 %', c170 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "170"', c171 varchar(20) DEFAULT NULL COMMENT 'it''s text 171',
  c172 int DEFAULT NULL COMMENT 'count 172', c173 datetime DEFAULT NULL COMMENT 'since 173', c174 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 174 %',
  c175 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "175"', c176 varchar(20) DEFAULT NULL COMMENT 'it''s text 176', c177 int DEFAULT NULL COMMENT 'count 177',
  c178 datetime DEFAULT NULL COMMENT 'since 178', c179 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 179 %', c180 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "180"',
  c181 varchar(20) DEFAULT NULL COMMENT 'it''s text 181', c182 int DEFAULT NULL COMMENT 'count 182', c183 datetime DEFAULT NULL COMMENT 'since 183',
  c184 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 184 %', c185 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "185"', c186 varchar(20) DEFAULT NULL COMMENT 'it''s text 186',
  c187 int DEFAULT NULL COMMENT 'count 187', c188 datetime DEFAULT NULL COMMENT 'since 188', c189 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 189 %',
  c190 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "190"', c191 varchar(20) DEFAULT NULL COMMENT 'it''s text 191', c192 int DEFAULT NULL COMMENT 'count 192',
  c193 datetime DEFAULT NULL COMMENT 'since 193', c194 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 194 %', c195 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "195"',
  c196 varchar(20) DEFAULT NULL COMMENT 'it''s text 196', c197 int DEFAULT NULL COMMENT 'count 197', c198 datetime DEFAULT NULL COMMENT 'since 198',
  c199 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 199 %', c200 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "200"', c201 varchar(20) DEFAULT NULL COMMENT 'it''s text 201',
  c202 int DEFAULT NULL COMMENT 'count 202', c203 datetime DEFAULT NULL COMMENT 'since 203', c204 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 204 %',
  c205 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "205"', c206 varchar(20) DEFAULT NULL COMMENT 'it''s text 206', c207 int DEFAULT NULL COMMENT 'count 207',
  c208 datetime DEFAULT NULL COMMENT 'since 208', c209 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 209 %', c210 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "210"',
  c211 varchar(20) DEFAULT NULL COMMENT 'it''s text 211', c212 int DEFAULT NULL COMMENT 'count 212', c213 datetime DEFAULT NULL COMMENT 'since 213',
  c214 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 214 %', c215 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "215"', c216 varchar(20) DEFAULT NULL COMMENT 'it''s text 216',
  c217 int DEFAULT NULL COMMENT 'count 217', c218 datetime DEFAULT NULL COMMENT 'since 218', c219 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 219 %',
  c220 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "220"', c221 varchar(20) DEFAULT NULL COMMENT 'it''s text 221', c222 int DEFAULT NULL COMMENT 'count 222',
  c223 datetime DEFAULT NULL COMMENT 'since 223', c224 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 224 %', c225 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "225"',
  c226 varchar(20) DEFAULT NULL COMMENT 'it''s text 226', c227 int DEFAULT NULL COMMENT 'count 227', c228 datetime DEFAULT NULL COMMENT 'since 228',
  c229 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 229 %', c230 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "230"', c231 varchar(20) DEFAULT NULL COMMENT 'it''s text 231',
  c232 int DEFAULT NULL COMMENT 'count 232', c233 datetime DEFAULT NULL COMMENT 'since 233', c234 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 234 %',
  c235 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "235"', c236 varchar(20) DEFAULT NULL COMMENT 'it''s text 236', c237 int DEFAULT NULL COMMENT 'count 237',
  c238 datetime DEFAULT NULL COMMENT 'since 238', c239 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 239 %', c240 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "240"',
  c241 varchar(20) DEFAULT NULL COMMENT 'it''s text 241', c242 int DEFAULT NULL COMMENT 'count 242', c243 datetime DEFAULT NULL COMMENT 'since 243',
  c244 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 244 %', c245 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "245"', c246 varchar(20) DEFAULT NULL COMMENT 'it''s text 246',
  c247 int DEFAULT NULL COMMENT 'count 247', c248 datetime DEFAULT NULL COMMENT 'since 248', c249 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 249 %',
  c250 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "250"', c251 varchar(20) DEFAULT NULL COMMENT 'it''s text 251', c252 int DEFAULT NULL COMMENT 'count 252',
  c253 datetime DEFAULT NULL COMMENT 'since 253', c254 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 254 %', c255 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "255"',
  c256 varchar(20) DEFAULT NULL COMMENT 'it''s text 256', c257 int DEFAULT NULL COMMENT 'count 257', c258 datetime DEFAULT NULL COMMENT 'since 258',
  c259 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 259 %', c260 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "260"', c261 varchar(20) DEFAULT NULL COMMENT 'it''s text 261',
  c262 int DEFAULT NULL COMMENT 'count 262', c263 datetime DEFAULT NULL COMMENT 'since 263', c264 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 264 %',
  c265 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "265"', c266 varchar(20) DEFAULT NULL COMMENT 'it''s text 266', c267 int DEFAULT NULL COMMENT 'count 267',
  c268 datetime DEFAULT NULL COMMENT 'since 268', c269 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 269 %', c270 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "270"',
  c271 varchar(20) DEFAULT NULL COMMENT 'it''s text 271', c272 int DEFAULT NULL COMMENT 'count 272', c273 datetime DEFAULT NULL COMMENT 'since 273',
  c274 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 274 %', c275 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "275"', c276 varchar(20) DEFAULT NULL COMMENT 'it''s text 276',
  c277 int DEFAULT NULL COMMENT 'count 277', c278 datetime DEFAULT NULL COMMENT 'since 278', c279 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 279 %',
  c280 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "280"', c281 varchar(20) DEFAULT NULL COMMENT 'it''s text 281', c282 int DEFAULT NULL COMMENT 'count 282',
  c283 datetime DEFAULT NULL COMMENT 'since 283', c284 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 284 %', c285 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "285"',
  c286 varchar(20) DEFAULT NULL COMMENT 'it''s text 286', c287 int DEFAULT NULL COMMENT 'count 287', c288 datetime DEFAULT NULL COMMENT 'since 288',
  c289 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 289 %', c290 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "290"', c291 varchar(20) DEFAULT NULL COMMENT 'it''s text 291',
  c292 int DEFAULT NULL COMMENT 'count 292', c293 datetime DEFAULT NULL COMMENT 'since 293', c294 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 294 %',
  c295 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "295"', c296 varchar(20) DEFAULT NULL COMMENT 'it''s text 296', c297 int DEFAULT NULL COMMENT 'count 297',
  c298 datetime DEFAULT NULL COMMENT 'since 298', c299 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 299 %', c300 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "300"',
  c301 varchar(20) DEFAULT NULL COMMENT 'it''s text 301', c302 int DEFAULT NULL COMMENT 'count 302', c303 datetime DEFAULT NULL COMMENT 'since 303',
  c304 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 304 %', c305 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "305"', c306 varchar(20) DEFAULT NULL COMMENT 'it''s text 306',
  c307 int DEFAULT NULL COMMENT 'count 307', c308 datetime DEFAULT NULL COMMENT 'since 308', c309 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 309 %',
  c310 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "310"', c311 varchar(20) DEFAULT NULL COMMENT 'it''s text 311', c312 int DEFAULT NULL COMMENT 'count 312',
  c313 datetime DEFAULT NULL COMMENT 'since 313', c314 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 314 %', c315 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "315"',
  c316 varchar(20) DEFAULT NULL COMMENT 'it''s text 316', c317 int DEFAULT NULL COMMENT 'count 317', c318 datetime DEFAULT NULL COMMENT 'since 318',
  c319 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 319 %', c320 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "320"', c321 varchar(20) DEFAULT NULL COMMENT 'it''s text 321',
  c322 int DEFAULT NULL COMMENT 'count 322', c323 datetime DEFAULT NULL COMMENT 'since 323', c324 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 324 %',
  c325 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "325"', c326 varchar(20) DEFAULT NULL COMMENT 'it''s text 326', c327 int DEFAULT NULL COMMENT 'count 327',
  c328 datetime DEFAULT NULL COMMENT 'since 328', c329 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 329 %', c330 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "330"',
  c331 varchar(20) DEFAULT NULL COMMENT 'it''s text 331', c332 int DEFAULT NULL COMMENT 'count 332', c333 datetime DEFAULT NULL COMMENT 'since 333',
  c334 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 334 %', c335 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "335"', c336 varchar(20) DEFAULT NULL COMMENT 'it''s text 336',
  c337 int DEFAULT NULL COMMENT 'count 337', c338 datetime DEFAULT NULL COMMENT 'since 338', c339 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 339 %',
  c340 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "340"', c341 varchar(20) DEFAULT NULL COMMENT 'it''s text 341', c342 int DEFAULT NULL COMMENT 'count 342',
  c343 datetime DEFAULT NULL COMMENT 'since 343', c344 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 344 %', c345 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "345"',
  c346 varchar(20) DEFAULT NULL COMMENT 'it''s text 346', c347 int DEFAULT NULL COMMENT 'count 347', c348 datetime DEFAULT NULL COMMENT 'since 348',
  c349 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 349 %', c350 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "350"', c351 varchar(20) DEFAULT NULL COMMENT 'it''s text 351',
  c352 int DEFAULT NULL COMMENT 'count 352', c353 datetime DEFAULT NULL COMMENT 'since 353', c354 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 354 %',
  c355 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "355"', c356 varchar(20) DEFAULT NULL COMMENT 'it''s text 356', c357 int DEFAULT NULL COMMENT 'count 357',
  c358 datetime DEFAULT NULL COMMENT 'since 358', c359 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 359 %', c360 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "360"',
  c361 varchar(20) DEFAULT NULL COMMENT 'it''s text 361', c362 int DEFAULT NULL COMMENT 'count 362', c363 datetime DEFAULT NULL COMMENT 'since 363',
  c364 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 364 %', c365 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "365"', c366 varchar(20) DEFAULT NULL COMMENT 'it''s text 366',
  c367 int DEFAULT NULL COMMENT 'count 367', c368 datetime DEFAULT NULL COMMENT 'since 368', c369 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 369 %',
  c370 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "370"', c371 varchar(20) DEFAULT NULL COMMENT 'it''s text 371', c372 int DEFAULT NULL COMMENT 'count 372',
  c373 datetime DEFAULT NULL COMMENT 'since 373', c374 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 374 %', c375 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "375"',
  c376 varchar(20) DEFAULT NULL COMMENT 'it''s text 376', c377 int DEFAULT NULL COMMENT 'count 377', c378 datetime DEFAULT NULL COMMENT 'since 378',
  c379 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 379 %', c380 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "380"', c381 varchar(20) DEFAULT NULL COMMENT 'it''s text 381',
  c382 int DEFAULT NULL COMMENT 'count 382', c383 datetime DEFAULT NULL COMMENT 'since 383', c384 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 384 %',
  c385 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "385"', c386 varchar(20) DEFAULT NULL COMMENT 'it''s text 386', c387 int DEFAULT NULL COMMENT 'count 387',
  c388 datetime DEFAULT NULL COMMENT 'since 388', c389 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 389 %', c390 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "390"',
  c391 varchar(20) DEFAULT NULL COMMENT 'it''s text 391', c392 int DEFAULT NULL COMMENT 'count 392', c393 datetime DEFAULT NULL COMMENT 'since 393',
  c394 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 394 %', c395 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "395"', c396 varchar(20) DEFAULT NULL COMMENT 'it''s text 396',
  c397 int DEFAULT NULL COMMENT 'count 397', c398 datetime DEFAULT NULL COMMENT 'since 398', c399 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 399 %',
  c400 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "400"', c401 varchar(20) DEFAULT NULL COMMENT 'it''s text 401', c402 int DEFAULT NULL COMMENT 'count 402',
  c403 datetime DEFAULT NULL COMMENT 'since 403', c404 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 404 %', c405 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "405"',
  c406 varchar(20) DEFAULT NULL COMMENT 'it''s text 406', c407 int DEFAULT NULL COMMENT 'count 407', c408 datetime DEFAULT NULL COMMENT 'since 408',
  c409 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 409 %', c410 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "410"', c411 varchar(20) DEFAULT NULL COMMENT 'it''s text 411',
  c412 int DEFAULT NULL COMMENT 'count 412', c413 datetime DEFAULT NULL COMMENT 'since 413', c414 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 414 %',
  c415 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "415"', c416 varchar(20) DEFAULT NULL COMMENT 'it''s text 416', c417 int DEFAULT NULL COMMENT 'count 417',
  c418 datetime DEFAULT NULL COMMENT 'since 418', c419 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 419 %', c420 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "420"',
  c421 varchar(20) DEFAULT NULL COMMENT 'it''s text 421', c422 int DEFAULT NULL COMMENT 'count 422', c423 datetime DEFAULT NULL COMMENT 'since 423',
  c424 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 424 %', c425 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "425"', c426 varchar(20) DEFAULT NULL COMMENT 'it''s text 426',
  c427 int DEFAULT NULL COMMENT 'count 427', c428 datetime DEFAULT NULL COMMENT 'since 428', c429 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 429 %',
  c430 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "430"', c431 varchar(20) DEFAULT NULL COMMENT 'it''s text 431', c432 int DEFAULT NULL COMMENT 'count 432',
  c433 datetime DEFAULT NULL COMMENT 'since 433', c434 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 434 %', c435 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "435"',
  c436 varchar(20) DEFAULT NULL COMMENT 'it''s text 436', c437 int DEFAULT NULL COMMENT 'count 437', c438 datetime DEFAULT NULL COMMENT 'since 438',
  c439 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 439 %', c440 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "440"', c441 varchar(20) DEFAULT NULL COMMENT 'it''s text 441',
  c442 int DEFAULT NULL COMMENT 'count 442', c443 datetime DEFAULT NULL COMMENT 'since 443', c444 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 444 %',
  c445 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "445"', c446 varchar(20) DEFAULT NULL COMMENT 'it''s text 446', c447 int DEFAULT NULL COMMENT 'count 447',
  c448 datetime DEFAULT NULL COMMENT 'since 448', c449 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 449 %', c450 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "450"',
  c451 varchar(20) DEFAULT NULL COMMENT 'it''s text 451', c452 int DEFAULT NULL COMMENT 'count 452', c453 datetime DEFAULT NULL COMMENT 'since 453',
  c454 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 454 %', c455 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "455"', c456 varchar(20) DEFAULT NULL COMMENT 'it''s text 456',
  c457 int DEFAULT NULL COMMENT 'count 457', c458 datetime DEFAULT NULL COMMENT 'since 458', c459 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 459 %',
  c460 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "460"', c461 varchar(20) DEFAULT NULL COMMENT 'it''s text 461', c462 int DEFAULT NULL COMMENT 'count 462',
  c463 datetime DEFAULT NULL COMMENT 'since 463', c464 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 464 %', c465 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "465"',
  c466 varchar(20) DEFAULT NULL COMMENT 'it''s text 466', c467 int DEFAULT NULL COMMENT 'count 467', c468 datetime DEFAULT NULL COMMENT 'since 468',
  c469 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 469 %', c470 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "470"', c471 varchar(20) DEFAULT NULL COMMENT 'it''s text 471',
  c472 int DEFAULT NULL COMMENT 'count 472', c473 datetime DEFAULT NULL COMMENT 'since 473', c474 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 474 %',
  c475 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "475"', c476 varchar(20) DEFAULT NULL COMMENT 'it''s text 476', c477 int DEFAULT NULL COMMENT 'count 477',
  c478 datetime DEFAULT NULL COMMENT 'since 478', c479 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 479 %', c480 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "480"',
  c481 varchar(20) DEFAULT NULL COMMENT 'it''s text 481', c482 int DEFAULT NULL COMMENT 'count 482', c483 datetime DEFAULT NULL COMMENT 'since 483',
  c484 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 484 %', c485 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "485"', c486 varchar(20) DEFAULT NULL COMMENT 'it''s text 486',
  c487 int DEFAULT NULL COMMENT 'count 487', c488 datetime DEFAULT NULL COMMENT 'since 488', c489 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 489 %',
  c490 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "490"', c491 varchar(20) DEFAULT NULL COMMENT 'it''s text 491', c492 int DEFAULT NULL COMMENT 'count 492',
  c493 datetime DEFAULT NULL COMMENT 'since 493', c494 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 494 %', c495 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "495"',
  c496 varchar(20) DEFAULT NULL COMMENT 'it''s text 496', c497 int DEFAULT NULL COMMENT 'count 497', c498 datetime DEFAULT NULL COMMENT 'since 498',
  c499 decimal(10,2) DEFAULT '0.50' COMMENT 'rate; 499 %', c500 tinyint(1) NOT NULL DEFAULT '1' COMMENT 'flag "500"'
);
INSERT INTO wide (id, c007, c031) VALUES (1, 7, 'seven'), (2, NULL, '');
ALTER TABLE wide ADD COLUMN last_one int NOT NULL DEFAULT 42 COMMENT 'the 501st; and a \\ in it';
ALTER TABLE wide DROP COLUMN c250, DROP COLUMN c251;
UPDATE wide SET c499 = 1.25, last_one = 0 WHERE id = 2;
-- look
CREATE VIEW hot_hosts AS SELECT h.hostid, h.host, t.priority FROM hosts h JOIN items i ON i.hostid = h.hostid JOIN functions f ON f.itemid = i.itemid JOIN triggers t ON t.triggerid = f.triggerid WHERE t.priority >= 3;
CREATE TABLE housekeeper (id bigint unsigned NOT NULL PRIMARY KEY, tablename varchar(64) NOT NULL DEFAULT '', field varchar(64) NOT NULL DEFAULT '', value bigint unsigned NOT NULL);
INSERT INTO housekeeper VALUES (1, 'history', 'itemid', 12);
TRUNCATE TABLE housekeeper;
ALTER TABLE housekeeper RENAME COLUMN field TO object;
ALTER TABLE housekeeper ADD UNIQUE KEY what (tablename, object, value);
INSERT INTO housekeeper VALUES (1, 'history', 'itemid', 13);
CREATE TABLE media (mediaid bigint unsigned NOT NULL PRIMARY KEY, sendto varchar(1024) NOT NULL DEFAULT '', period varchar(1024) NOT NULL DEFAULT '1-7,00:00-24:00', severity int NOT NULL DEFAULT 63);
INSERT INTO media VALUES (1, 'a@example.org', '1-5', 63);
ALTER DATABASE app_monitor CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
ALTER TABLE hosts CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
ALTER TABLE media CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
UPDATE hosts SET name = 'wëb 😀' WHERE hostid = 5;
CREATE TABLE actions (actionid bigint unsigned NOT NULL PRIMARY KEY, name varchar(255) DEFAULT '' NOT NULL, esc_period varchar(255) DEFAULT '1h' NOT NULL);
INSERT INTO actions VALUES (1, 'Tell 😀', '1h');
RENAME TABLE media TO user_media;
DROP TABLE housekeeper;
DELETE FROM hosts WHERE hostid = 7;
-- look
