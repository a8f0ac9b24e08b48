-- A shop: a dump as a web interface writes it (tables without a key, rows, then the keys), entities with values by type,
-- keys over four texts, money, ENUMs, views over four tables, the other children before their parents.
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';
SET foreign_key_checks = 0;
CREATE DATABASE app_shop DEFAULT CHARACTER SET utf8 COLLATE utf8_general_ci;
USE app_shop;
CREATE TABLE `ps_currency` (
  `id_currency` int(11) NOT NULL,
  `name` varchar(64) NOT NULL,
  `iso` varchar(3) NOT NULL DEFAULT '0',
  `rate` decimal(13,6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
INSERT INTO `ps_currency` (`id_currency`, `name`, `iso`, `rate`) VALUES (1, 'Euro', 'EUR', '1.000000'), (2, 'Złoty', 'PLN', '4.321000');
CREATE TABLE `ps_order_line` (
  `id_line` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `id_order` int(10) unsigned NOT NULL,
  `id_product` int(10) unsigned DEFAULT NULL,
  `name` varchar(255) NOT NULL,
  `qty` int(10) unsigned NOT NULL DEFAULT '0',
  `price` decimal(20,6) NOT NULL DEFAULT '0.000000',
  PRIMARY KEY (`id_line`),
  KEY `of_order` (`id_order`),
  CONSTRAINT `line_order` FOREIGN KEY (`id_order`) REFERENCES `ps_orders` (`id_order`) ON DELETE CASCADE,
  CONSTRAINT `line_product` FOREIGN KEY (`id_product`) REFERENCES `ps_product` (`id_product`) ON DELETE SET NULL ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
INSERT INTO `ps_order_line` VALUES (1, 1, 1, 'Mug', 2, '11.900000'), (2, 1, 2, 'T-shirt', 1, '23.900000'), (3, 44, 1, 'Lost', 1, '0.000001');
CREATE TABLE `ps_orders` (
  `id_order` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `reference` varchar(9) DEFAULT NULL,
  `id_customer` int(10) unsigned NOT NULL,
  `payment` varchar(255) NOT NULL,
  `total` decimal(20,6) NOT NULL DEFAULT '0.000000',
  `invoice_date` datetime NOT NULL,
  `valid` int(1) unsigned NOT NULL DEFAULT '0',
  `date_add` datetime NOT NULL,
  PRIMARY KEY (`id_order`),
  KEY `reference` (`reference`),
  KEY `date_add` (`date_add`),
  CONSTRAINT `order_customer` FOREIGN KEY (`id_customer`) REFERENCES `ps_customer` (`id_customer`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
INSERT INTO `ps_orders` VALUES (1, 'XKBKNABJK', 1, 'Bank wire', '47.700000', '2020-01-02 03:04:06', 0, '2020-01-02 03:04:05'),
  (2, NULL, 7, '', '0', '2020-02-02 00:00:00', 1, '2020-02-02 00:00:01');
CREATE TABLE `ps_product` (
  `id_product` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `ean13` varchar(13) DEFAULT NULL,
  `price` decimal(20,6) NOT NULL DEFAULT '0.000000',
  `weight` float NOT NULL DEFAULT '0',
  `visibility` enum('both','catalog','search','none') NOT NULL DEFAULT 'both',
  `flags` set('new','sale') NOT NULL DEFAULT '',
  `active` tinyint(1) unsigned NOT NULL DEFAULT '0',
  `available` date NOT NULL DEFAULT '2000-01-01',
  `date_upd` datetime NOT NULL,
  PRIMARY KEY (`id_product`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
INSERT INTO `ps_product` VALUES (1, '4006381333931', '11.9', 0.3, 'both', 'new', 1, '2020-01-01', '2020-01-01 00:00:00'),
  (2, NULL, '23.9', 1e-3, 'search', 'new,sale', 0, '2000-01-01', '2020-01-01 00:00:01');
CREATE TABLE `ps_customer` (
  `id_customer` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `email` varchar(128) NOT NULL,
  `birthday` date DEFAULT NULL,
  `note` text,
  `secure_key` varchar(32) NOT NULL DEFAULT '-1',
  PRIMARY KEY (`id_customer`),
  KEY `email` (`email`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
INSERT INTO `ps_customer` VALUES (1, 'pub@example.org', '1970-01-15', NULL, 'b44a6d9efd7a0076a0fbce6b15eaf3b1'), (2, '', NULL, 'pays \\ late', '-1');
ALTER TABLE `ps_currency` ADD PRIMARY KEY (`id_currency`), ADD UNIQUE KEY `iso` (`iso`);
SET foreign_key_checks = 1;
-- look
UPDATE ps_currency SET rate = 4.5 WHERE iso = 'PLN';
INSERT INTO ps_orders (reference, id_customer, payment, invoice_date, date_add) VALUES ('ABCDEFGHI', 2, 'Card', '2020-03-03 00:00:00', '2020-03-03 00:00:00');
ALTER TABLE ps_orders ADD COLUMN `date_upd` datetime NOT NULL DEFAULT '2020-01-01 00:00:00', ADD COLUMN `note` text;
ALTER TABLE ps_orders ADD COLUMN `round_mode` tinyint(1) NOT NULL DEFAULT '2' AFTER total, ADD COLUMN `gift` tinyint(1) NOT NULL DEFAULT 0;
ALTER TABLE ps_orders MODIFY payment varchar(255) DEFAULT 'none', MODIFY total decimal(24,9) NOT NULL DEFAULT '0.000000000';
UPDATE ps_orders SET date_upd = date_add, note = 'x' WHERE id_order = 1;
ALTER TABLE ps_product MODIFY visibility enum('both','catalog','search','none','partner') NOT NULL DEFAULT 'both', MODIFY flags set('new','sale','last one') NOT NULL DEFAULT 'new';
UPDATE ps_product SET visibility = 'partner', flags = 'last one' WHERE id_product = 2;
ALTER TABLE ps_product ADD COLUMN `wholesale` decimal(20,6) DEFAULT NULL, ADD COLUMN `unity` varchar(255) DEFAULT NULL, ADD COLUMN margin decimal(20,6) AS (price - 10) VIRTUAL;
ALTER TABLE ps_product ADD COLUMN state int(11) unsigned NOT NULL DEFAULT '1';
ALTER TABLE ps_product ADD KEY state (state, date_upd);
ALTER TABLE ps_product MODIFY weight double NOT NULL DEFAULT '0';
ALTER TABLE ps_product MODIFY ean13 char(13) DEFAULT NULL, ADD COLUMN isbn varchar(32) NOT NULL DEFAULT 'a''b\\c';
INSERT INTO ps_product (price, date_upd) VALUES (1, '2021-01-01 00:00:00');
UPDATE ps_product SET id_product = 30 WHERE id_product = 2;
DELETE FROM ps_orders WHERE id_order = 1;
-- look
CREATE TABLE eav_attribute (
  attribute_id smallint(5) unsigned NOT NULL AUTO_INCREMENT COMMENT 'Attribute Id',
  entity_type_id smallint(5) unsigned NOT NULL DEFAULT 0 COMMENT 'Entity Type Id',
  attribute_code varchar(255) NOT NULL COMMENT 'Attribute Code',
  backend_type varchar(8) NOT NULL DEFAULT 'static' COMMENT 'Backend Type',
  frontend_class varchar(255) DEFAULT NULL COMMENT 'Frontend Class',
  PRIMARY KEY (attribute_id),
  UNIQUE KEY EAV_CODE (entity_type_id, attribute_code)
) COMMENT 'Eav Attribute';
CREATE TABLE entity (
  entity_id int(10) unsigned NOT NULL AUTO_INCREMENT,
  sku varchar(64) DEFAULT NULL,
  created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (entity_id), KEY sku (sku)
);
CREATE TABLE entity_decimal (
  value_id bigint NOT NULL AUTO_INCREMENT,
  attribute_id smallint(5) unsigned NOT NULL DEFAULT 0,
  store_id smallint(5) unsigned NOT NULL DEFAULT 0,
  entity_id int(10) unsigned NOT NULL DEFAULT 0,
  value decimal(12,4) DEFAULT NULL,
  PRIMARY KEY (value_id),
  UNIQUE KEY of_all (entity_id, attribute_id, store_id),
  CONSTRAINT d_attribute FOREIGN KEY (attribute_id) REFERENCES eav_attribute (attribute_id) ON DELETE CASCADE,
  CONSTRAINT d_entity FOREIGN KEY (entity_id) REFERENCES entity (entity_id) ON DELETE CASCADE
);
INSERT INTO eav_attribute VALUES (1, 4, 'price', 'decimal', NULL), (2, 4, 'cost', 'decimal', '');
INSERT INTO entity VALUES (1, 'sku-1', '2020-01-01 00:00:00', '2020-01-01 00:00:01'), (2, NULL, '2020-01-02 00:00:00', '2020-01-02 00:00:01');
INSERT INTO entity_decimal (attribute_id, entity_id, value) VALUES (1, 1, 9.99), (2, 1, NULL), (1, 2, -0.0001);
ALTER TABLE entity_decimal MODIFY value decimal(20,6) DEFAULT NULL COMMENT 'Value';
ALTER TABLE entity ADD COLUMN has_options smallint(6) NOT NULL DEFAULT 0 COMMENT 'Has Options', ADD COLUMN type_id varchar(32) NOT NULL DEFAULT 'simple' COMMENT 'Type';
DELETE FROM eav_attribute WHERE attribute_id = 2;
CREATE TABLE url_rewrite (
  id int unsigned NOT NULL AUTO_INCREMENT, kind varchar(255) NOT NULL, path varchar(255) DEFAULT NULL, aim varchar(255) DEFAULT NULL, store varchar(255) NOT NULL,
  PRIMARY KEY (id), UNIQUE KEY all_of_it (kind, path, aim, store), KEY aim (aim(20), store)
) DEFAULT CHARSET=utf8;
INSERT INTO url_rewrite VALUES (1, 'product', 'mug.html', 'catalog/1', '1'), (2, 'product', NULL, 'catalog/2', '1'), (3, 'product', NULL, 'catalog/2', '1');
ALTER TABLE url_rewrite ADD COLUMN redirect smallint unsigned NOT NULL DEFAULT 0 AFTER aim, ADD COLUMN meta text;
-- look
CREATE TABLE rule_price (
  id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, day date NOT NULL, grp int NOT NULL, price decimal(20,6) NOT NULL DEFAULT 0,
  latest date DEFAULT NULL, factor float NOT NULL DEFAULT '0.3', UNIQUE KEY day_grp (day, grp)
);
INSERT INTO rule_price (day, grp, price) VALUES ('2020-01-01', 0, 1), ('2020-01-02', 0, 2.5), ('2020-01-01', 1, 3);
ALTER TABLE rule_price MODIFY day datetime NOT NULL, MODIFY factor decimal(20,6) NOT NULL DEFAULT '0.000000';
ALTER TABLE rule_price CHANGE COLUMN grp customer_group varchar(20) NOT NULL DEFAULT '0';
ALTER TABLE rule_price DROP INDEX day_grp, ADD UNIQUE KEY day_group (day, customer_group), ADD CONSTRAINT no_less CHECK (price >= 0);
INSERT INTO rule_price (day, customer_group, price) VALUES ('2020-01-01', 'all', 7);
CREATE TABLE rule_price_replica LIKE rule_price;
INSERT INTO rule_price_replica SELECT * FROM rule_price WHERE id > 1;
RENAME TABLE rule_price TO rule_price_old, rule_price_replica TO rule_price, rule_price_old TO rule_price_replica;
TRUNCATE TABLE rule_price_replica;
ALTER TABLE rule_price RENAME COLUMN latest TO earliest;
CREATE TABLE log_visitor (
  id bigint unsigned NOT NULL, seen datetime NOT NULL DEFAULT CURRENT_TIMESTAMP, ip bigint DEFAULT 0, ua varbinary(512) DEFAULT '', store int NOT NULL, PRIMARY KEY (id) NONCLUSTERED
) PARTITION BY HASH (id) PARTITIONS 4;
INSERT INTO log_visitor VALUES (1, '2020-01-01 00:00:00', 2130706433, 'curl\\7', 1), (2, '2020-01-01 00:00:01', NULL, NULL, 2), (7, '2020-01-01 00:00:02', -1, x'00ff', 1);
ALTER TABLE log_visitor COALESCE PARTITION 2;
ALTER TABLE log_visitor ADD COLUMN first_seen datetime(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) AFTER seen, ADD COLUMN remote varchar(64) DEFAULT 'ip-none';
ALTER TABLE log_visitor REMOVE PARTITIONING;
UPDATE log_visitor SET remote = NULL, first_seen = '2020-01-01 00:00:00.125' WHERE id = 2;
ALTER TABLE log_visitor ADD UNIQUE KEY store_id (store, id);
ALTER TABLE log_visitor DROP PRIMARY KEY;
DELETE FROM log_visitor WHERE id = 7;
-- look
CREATE VIEW sold AS SELECT l.id_line, l.name, l.qty, o.reference, c.email, p.price FROM ps_order_line l JOIN ps_orders o ON o.id_order = l.id_order JOIN ps_customer c ON c.id_customer = o.id_customer JOIN ps_product p ON p.id_product = l.id_product WHERE o.valid <> 0;
INSERT INTO ps_order_line VALUES (10, 2, 30, 'Mug', 1, 5), (11, 3, NULL, 'Gift', 1, 0);
UPDATE ps_orders SET valid = 1, id_customer = 1 WHERE id_order = 2;
CREATE VIEW in_stock AS SELECT id_product, price FROM ps_product WHERE visibility <> 'none' AND active = 1;
ALTER TABLE ps_customer ADD COLUMN gender enum('f','m','x','') DEFAULT 'x', ADD COLUMN newsletter tinyint(1) unsigned NOT NULL DEFAULT '0';
ALTER TABLE ps_customer DROP INDEX email;
ALTER TABLE ps_customer MODIFY email varchar(255) NOT NULL;
ALTER TABLE ps_customer CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
ALTER TABLE ps_customer ADD INDEX id_shop (newsletter, email(40));
UPDATE ps_customer SET note = '👍', gender = '' WHERE id_customer = 2;
ALTER TABLE ps_customer ADD COLUMN score smallint NOT NULL DEFAULT -1, ADD COLUMN discount decimal(5,2) NOT NULL DEFAULT '0.05', ADD COLUMN token binary(4) NOT NULL DEFAULT 'abcd';
ALTER TABLE ps_customer ADD COLUMN last_visit timestamp NULL DEFAULT NULL, ADD COLUMN since year(4) NOT NULL DEFAULT '2001', ADD COLUMN at time NOT NULL DEFAULT '12:00';
INSERT INTO ps_customer (email) VALUES ('new@example.org');
DROP VIEW in_stock;
DROP TABLE rule_price_replica;
-- look
