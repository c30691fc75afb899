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
