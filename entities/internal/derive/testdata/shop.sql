-- A shop as many designers have made it: keys under all names, two ways of naming, views, and values
-- that do not fit their types.
CREATE TABLE customers (
  CustomerID INTEGER PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  email TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'blocked', 'gone')),
  rating INT CHECK (rating >= 1 AND rating <= 5),
  code TEXT CHECK (length(code) <= 8),
  since DATE,
  last_seen DATETIME,
  "URLPath" TEXT,
  referred_by INTEGER REFERENCES customers (CustomerID)
);
CREATE TABLE "Order Details" (
  order_id INTEGER NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  sku TEXT NOT NULL REFERENCES products,
  quantity INTEGER NOT NULL DEFAULT 1,
  unit_price NUMERIC(10,2) NOT NULL,
  total REAL GENERATED ALWAYS AS (quantity * unit_price) VIRTUAL,
  PRIMARY KEY (order_id, sku)
) WITHOUT ROWID;
CREATE TABLE shipments (
  shipment_no INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  sku TEXT NOT NULL,
  sent_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (order_id, sku) REFERENCES "Order Details" (order_id, sku)
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  billing_customer_id INTEGER NOT NULL REFERENCES customers,
  shipping_customer_id INTEGER REFERENCES customers,
  placed DATETIME,
  express BOOLEAN NOT NULL DEFAULT 0,
  meta JSON
);
CREATE TABLE products (
  sku TEXT PRIMARY KEY NOT NULL,
  title TEXT,
  weight REAL,
  picture BLOB,
  whatever
);
CREATE TABLE tags (tag_id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, parent_id INTEGER REFERENCES tags);
CREATE TABLE product_tags (
  product_sku TEXT NOT NULL REFERENCES products (sku),
  tag_id INTEGER NOT NULL REFERENCES tags (tag_id),
  PRIMARY KEY (product_sku, tag_id)
);
CREATE TABLE log (at INTEGER, line TEXT, tag TEXT REFERENCES tags (label));
CREATE TABLE wide_keys (a TEXT, b DATE, c INTEGER, note TEXT, id TEXT, PRIMARY KEY (c, b, a));
CREATE TABLE profiles (customer_id INTEGER PRIMARY KEY REFERENCES customers, bio TEXT);
CREATE TABLE files (name TEXT PRIMARY KEY NOT NULL);
CREATE TABLE orphans (id INTEGER PRIMARY KEY, gone_id INTEGER REFERENCES nowhere (id));
CREATE VIEW busy_customers AS SELECT c.CustomerID AS customer, c.name, count(*) AS orders FROM customers c JOIN orders o ON o.billing_customer_id = c.CustomerID GROUP BY 1, 2;
CREATE VIEW broken AS SELECT * FROM missing_table;
CREATE VIRTUAL TABLE notes USING rtree(id, low, high);

INSERT INTO customers VALUES (1, 'Ann', 'ann@example.org', 'active', 5, 'A1', '2020-02-29', '2024-01-31 08:00:00', '/ann', NULL), (2, 'Bob', 'bob@example.org', 'blocked', NULL, NULL, NULL, NULL, NULL, 1), (3, 'Çelik', 'c@example.org', 'gone', 1, 'C,3%', '2021-01-01', '2024-02-01 12:30:59', '', 1);
INSERT INTO products VALUES ('S-1', 'Spoon', 0.5, x'00ff10', 1), ('S,2', 'Fork, big', 1, NULL, 'two'), ('100%', 'Juice', NULL, 'text in a blob', 2.5), ('odd', x'ff00', 'heavy', x'', NULL);
INSERT INTO orders VALUES (10, 1, 2, '2024-01-01 00:00:00', 1, '{"gift": true, "n": 12345678901234567890}'), (11, 1, NULL, '2024-01-02T10:00:00', 0, 'no json'), (12, 3, 3, 1704067200, 'yes', NULL), (13, 2, 1, NULL, 7, '[1, 2]');
INSERT INTO "Order Details" (order_id, sku, quantity, unit_price) VALUES (10, 'S-1', 2, 9.99), (10, 'S,2', 1, '10.5'), (11, '100%', 3, 0.1), (12, 'S-1', 'many', 5), (13, 'odd', 1, 'free');
INSERT INTO shipments (shipment_no, order_id, sku, sent_at) VALUES (1, 10, 'S-1', '2024-01-05 09:00:00'), (2, 10, 'S,2', '2024-01-06 09:00:00'), (3, 10, 'S-1', NULL);
INSERT INTO tags VALUES (1, 'kitchen', NULL), (2, 'steel', 1), (3, 'drink', NULL);
INSERT INTO product_tags VALUES ('S-1', 1), ('S-1', 2), ('S,2', 1), ('100%', 3);
INSERT INTO log VALUES (1, 'first', 'steel'), (2, 'second', 'drink'), (2, 'second', 'drink'), (NULL, NULL, NULL);
INSERT INTO wide_keys VALUES ('x,y', '2024-01-01', 1, 'one', 'a'), ('100%', '2024-01-02', 1, 'two', 'b'), ('', '2024-01-01', -2, 'three', NULL);
INSERT INTO profiles VALUES (1, 'likes spoons');
INSERT INTO files VALUES ('a.txt');
INSERT INTO orphans VALUES (1, 7);
