CREATE TABLE company (id int PRIMARY KEY);
--> CREATE TABLE
CREATE TABLE department (id int PRIMARY KEY, company int REFERENCES company ON DELETE CASCADE);
--> CREATE TABLE
-- Statements that a query feeds.
INSERT INTO company VALUES (1), (2), (3);
--> INSERT 0 3
INSERT INTO department VALUES (1, 1), (2, 2), (3, 3);
--> INSERT 0 3
DELETE FROM company USING department d WHERE d.company = company.id AND d.id <> 2 RETURNING company.id;
--> DELETE 2 1 3
SELECT id, company FROM department;
--> SELECT 1 2|2
CREATE TABLE badge (id int PRIMARY KEY, company int REFERENCES company ON UPDATE CASCADE ON DELETE CASCADE);
--> CREATE TABLE
INSERT INTO company SELECT g FROM generate_series(10, 12) g;
--> INSERT 0 3
INSERT INTO badge SELECT g, 9 + g FROM generate_series(1, 3) g;
--> INSERT 0 3
UPDATE company SET id = company.id + 100 FROM badge b WHERE b.company = company.id AND b.id < 3 RETURNING company.id;
--> UPDATE 2 110 111
SELECT id, company FROM badge;
--> SELECT 3 1|110 2|111 3|12
UPDATE company SET id = 111 FROM badge b WHERE b.company = company.id AND b.id = 1;
--> 23505
UPDATE company SET id = (SELECT max(company) + 1 FROM badge) WHERE id = 12;
--> UPDATE 1
UPDATE company SET id = id + 1 WHERE id IN (SELECT company FROM department);
--> 23503
SELECT id FROM company;
--> SELECT 4 110 111 112 2
INSERT INTO badge WITH RECURSIVE t(n) AS (SELECT 20 UNION ALL SELECT n + 1 FROM t WHERE n < 23) SELECT n, 110 FROM t;
--> INSERT 0 4
DELETE FROM company WHERE id IN (WITH RECURSIVE t(n) AS (SELECT 110 UNION ALL SELECT n + 1 FROM t WHERE n < 111) SELECT n FROM t);
--> DELETE 2
SELECT id, company FROM badge;
--> SELECT 1 3|112
-- RETURNING names what rows were joined with; one row gives several columns.
CREATE TABLE stock (id int PRIMARY KEY, n int, d numeric(10,2));
--> CREATE TABLE
CREATE TABLE delta (stock_id int, k int PRIMARY KEY, f text);
--> CREATE TABLE
INSERT INTO stock VALUES (1, 10, 1.5), (2, 20, 2.5), (3, NULL, NULL);
--> INSERT 0 3
INSERT INTO delta VALUES (1, 7, 'x'), (2, 8, 'y'), (4, 9, 'z');
--> INSERT 0 3
UPDATE stock SET n = n + q.k FROM delta q WHERE q.stock_id = stock.id RETURNING stock.id, n, q.k, f;
--> UPDATE 2 1|17|7|x 2|28|8|y
UPDATE stock SET n = 0 FROM delta q WHERE q.stock_id = stock.id AND k = 7 RETURNING *;
--> UPDATE 1 1|0|1.50|1|7|x
UPDATE stock s SET d = r.k FROM delta q JOIN (SELECT k, stock_id AS i FROM delta) r ON r.i = q.stock_id WHERE r.i = s.id RETURNING s.*, r.*, q.f;
--> UPDATE 2 1|0|7.00|7|1|x 2|28|8.00|8|2|y
UPDATE stock SET n = 1 FROM delta q WHERE q.stock_id = stock.id RETURNING q.nope;
--> 42703
UPDATE stock SET (n, d) = (SELECT q.k, q.k + 0.5 FROM delta q WHERE q.stock_id = stock.id) RETURNING id, n, d;
--> UPDATE 3 1|7|7.50 2|8|8.50 3||
UPDATE stock SET (n, d) = ROW (id + 1, 3) WHERE id < 3 RETURNING id, n, d;
--> UPDATE 2 1|2|3.00 2|3|3.00
UPDATE stock SET (n, d) = (SELECT 1);
--> 42601
UPDATE stock SET (n, d) = (1);
--> 0A000
UPDATE stock SET (n, d) = (SELECT k, k FROM delta);
--> 21000
DELETE FROM stock USING delta q WHERE q.stock_id = stock.id AND q.k = 8 RETURNING stock.*, q.f;
--> DELETE 1 2|3|3.00|y
WITH w AS (SELECT 3 AS i, 'w' AS name) DELETE FROM stock USING w WHERE w.i = id RETURNING id, name;
--> DELETE 1 3|w
INSERT INTO stock SELECT stock_id + 10, k FROM delta RETURNING id, n, d;
--> INSERT 0 3 11|7| 12|8| 14|9|
SELECT * FROM stock ORDER BY id;
--> SELECT 4 1|2|3.00 11|7| 12|8| 14|9|
INSERT INTO stock VALUES ((SELECT max(id) + 1 FROM stock), DEFAULT, '2.5') RETURNING *;
--> INSERT 0 1 15||2.50
