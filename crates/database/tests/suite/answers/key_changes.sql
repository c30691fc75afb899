CREATE TABLE t (id int PRIMARY KEY, n int, u text UNIQUE);
--> CREATE TABLE
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL), (5, 50, 'e');
--> INSERT 0 4
UPDATE t SET id = 4 WHERE id = 3;
--> UPDATE 1
UPDATE t SET id = 4, n = n + 1 WHERE id = 2;
--> 23505
SELECT * FROM t;
--> SELECT 4 1|10|a 2|20|b 4|30| 5|50|e
-- Rows do not change places: each is checked as it changes.
UPDATE t SET id = CASE id WHEN 1 THEN 2 ELSE 1 END WHERE id < 3;
--> 23505
UPDATE t SET id = id + 10;
--> UPDATE 4
UPDATE t SET id = id + 1 WHERE id IN (11, 12);
--> 23505
UPDATE t SET id = id, n = n + 1 RETURNING id, n, u;
--> UPDATE 4 11|11|a 12|21|b 14|31| 15|51|e
UPDATE t SET id = -id, u = u || '!' WHERE n > 20 RETURNING *, id + n;
--> UPDATE 3 -12|21|b!|9 -14|31||17 -15|51|e!|36
SELECT * FROM t;
--> SELECT 4 -12|21|b! -14|31| -15|51|e! 11|11|a
UPDATE t SET id = NULL WHERE id = 11;
--> 23502
UPDATE t SET id = 99 WHERE id = 98;
--> UPDATE 0
UPDATE t SET id = 'x' WHERE id = 11;
--> 22P02
UPDATE t SET id = DEFAULT WHERE id = 11;
--> 23502
UPDATE t SET (id, n) = (21, n) WHERE u = 'a';
--> UPDATE 1
UPDATE t SET u = 'b' WHERE id = 21;
--> UPDATE 1
UPDATE t SET id = 22, u = 'b' WHERE id = 21;
--> UPDATE 1
SELECT * FROM t;
--> SELECT 4 -12|21|b! -14|31| -15|51|e! 22|11|b
INSERT INTO t VALUES (21, 1, 'q') ON CONFLICT (id) DO UPDATE SET id = excluded.id + 10, n = t.n + excluded.n RETURNING *;
--> INSERT 0 1 21|1|q
-- Children: NO ACTION, CASCADE, SET NULL, SET DEFAULT.
CREATE TABLE p (id int PRIMARY KEY, code text UNIQUE, n int);
--> CREATE TABLE
CREATE TABLE stays (id int PRIMARY KEY, p int REFERENCES p (id));
--> CREATE TABLE
CREATE TABLE follows (id int PRIMARY KEY, p int REFERENCES p ON UPDATE CASCADE);
--> CREATE TABLE
CREATE TABLE clears (id int PRIMARY KEY, code text REFERENCES p (code) ON UPDATE SET NULL);
--> CREATE TABLE
CREATE TABLE falls (id int PRIMARY KEY, p bigint DEFAULT 1 REFERENCES p ON UPDATE SET DEFAULT);
--> CREATE TABLE
CREATE TABLE owned (p int REFERENCES p ON UPDATE CASCADE ON DELETE CASCADE, at int, PRIMARY KEY (p, at));
--> CREATE TABLE
CREATE TABLE grand (id int PRIMARY KEY, p int, at int, FOREIGN KEY (p, at) REFERENCES owned ON UPDATE CASCADE ON DELETE RESTRICT);
--> CREATE TABLE
INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, NULL, 4);
--> INSERT 0 4
INSERT INTO stays VALUES (1, 1), (2, NULL);
--> INSERT 0 2
INSERT INTO follows VALUES (1, 2), (2, 3), (3, NULL), (4, 2);
--> INSERT 0 4
INSERT INTO clears VALUES (1, 'a'), (2, 'b');
--> INSERT 0 2
INSERT INTO falls VALUES (1, 2), (2, 3);
--> INSERT 0 2
INSERT INTO owned VALUES (2, 1), (2, 2), (3, 1);
--> INSERT 0 3
INSERT INTO grand VALUES (1, 2, 1), (2, 2, 2), (3, NULL, 1), (4, 3, 1);
--> INSERT 0 4
UPDATE p SET id = 11 WHERE id = 1;
--> 23503
UPDATE p SET id = 1, n = 7 WHERE id = 1;
--> UPDATE 1
UPDATE p SET id = id + 20 WHERE id IN (2, 3) RETURNING id, code, n;
--> UPDATE 2 22|b|2 23|c|3
SELECT 'follows', id, p FROM follows UNION ALL SELECT 'falls', id, p FROM falls UNION ALL SELECT 'owned', at, p FROM owned UNION ALL SELECT 'grand', id, p FROM grand;
--> SELECT 13 falls|1|1 falls|2|1 follows|1|22 follows|2|23 follows|3| follows|4|22 grand|1|22 grand|2|22 grand|3| grand|4|23 owned|1|22 owned|1|23 owned|2|22
UPDATE p SET code = code || code;
--> UPDATE 4
SELECT * FROM clears;
--> SELECT 2 1| 2|
UPDATE p SET code = NULL WHERE n = 7;
--> UPDATE 1
UPDATE owned SET at = 9 WHERE p = 22 AND at = 1;
--> UPDATE 1
UPDATE owned SET p = 4 WHERE at = 9;
--> UPDATE 1
UPDATE owned SET p = 5 WHERE at = 9;
--> 23503
SELECT id, p, at FROM grand;
--> SELECT 4 1|4|9 2|22|2 3||1 4|23|1
DELETE FROM p WHERE id = 22;
--> 23503
DELETE FROM grand WHERE id = 2;
--> DELETE 1
DELETE FROM p WHERE id = 22;
--> 23503
DELETE FROM follows WHERE p = 22;
--> DELETE 2
DELETE FROM p WHERE id = 22 RETURNING n;
--> DELETE 1 2
SELECT * FROM owned;
--> SELECT 2 23|1 4|9
-- A tree whose keys change.
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON UPDATE CASCADE);
--> CREATE TABLE
INSERT INTO tree VALUES (1, 1), (2, 1), (3, 2), (4, NULL);
--> INSERT 0 4
UPDATE tree SET id = 10 WHERE id = 1;
--> UPDATE 1
SELECT * FROM tree;
--> SELECT 4 10|10 2|10 3|2 4|
UPDATE tree SET id = id + 100;
--> UPDATE 4
SELECT * FROM tree;
--> SELECT 4 102|110 103|102 104| 110|110
UPDATE tree SET up = id WHERE up IS NULL;
--> UPDATE 1
UPDATE tree SET up = up - 1 WHERE id = 103;
--> 23503
UPDATE tree SET id = 1, up = 1 WHERE id = 104;
--> UPDATE 1
SELECT * FROM tree;
--> SELECT 4 102|110 103|102 110|110 1|1
-- Keys of which the referencing part changes.
CREATE TABLE pair (a int, b int, PRIMARY KEY (a, b));
--> CREATE TABLE
CREATE TABLE half (id int PRIMARY KEY, a int, b int, FOREIGN KEY (a, b) REFERENCES pair);
--> CREATE TABLE
INSERT INTO pair VALUES (1, 1), (1, 2), (2, 1);
--> INSERT 0 3
INSERT INTO half VALUES (1, 1, 1), (2, NULL, 7);
--> INSERT 0 2
UPDATE half SET b = 2 WHERE id = 1;
--> UPDATE 1
UPDATE half SET b = b + 1 WHERE id = 1;
--> 23503
UPDATE half SET a = 2 WHERE id = 1;
--> 23503
UPDATE half SET a = b, b = a WHERE id = 1;
--> UPDATE 1
UPDATE half SET b = 8 WHERE id = 2;
--> UPDATE 1
UPDATE half SET a = 8 WHERE id = 2;
--> 23503
SELECT * FROM half;
--> SELECT 2 1|2|1 2||8
-- Procedures.
CREATE INDEX ON tree (up);
--> CREATE INDEX
CREATE FUNCTION rename(was int, is_now int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE said int; BEGIN UPDATE tree SET id = is_now WHERE id = was RETURNING id + 1 INTO said; IF NOT FOUND THEN RETURN 0; END IF; RETURN said; END $$;
--> CREATE FUNCTION
SELECT rename(1, 2);
--> SELECT 1 3
SELECT rename(1, 2);
--> SELECT 1 0
SELECT rename(102, 2);
--> 23505
SELECT * FROM tree;
--> SELECT 4 102|110 103|102 110|110 2|2
CREATE FUNCTION shift(by int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN UPDATE t SET id = id + by; GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$;
--> CREATE FUNCTION
SELECT shift(1000);
--> SELECT 1 5
SELECT * FROM t;
--> SELECT 5 1021|1|q 1022|11|b 985|51|e! 986|31| 988|21|b!
