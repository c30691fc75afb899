-- A parent with children of each kind.
CREATE TABLE p (id int PRIMARY KEY, code text UNIQUE, name text);
--> CREATE TABLE
CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p (id) ON DELETE CASCADE, note text);
--> CREATE TABLE
CREATE TABLE n (id int PRIMARY KEY, p int REFERENCES p ON DELETE SET NULL);
--> CREATE TABLE
CREATE TABLE d (id int PRIMARY KEY, p int DEFAULT 9 REFERENCES p (id) ON DELETE SET DEFAULT);
--> CREATE TABLE
CREATE TABLE k (id int PRIMARY KEY, code text REFERENCES p (code) ON DELETE CASCADE);
--> CREATE TABLE
CREATE TABLE g (id int PRIMARY KEY, c int REFERENCES c ON DELETE CASCADE);
--> CREATE TABLE
CREATE TABLE r (id int PRIMARY KEY, c int REFERENCES c ON DELETE RESTRICT);
--> CREATE TABLE
INSERT INTO p VALUES (1, 'a', 'one'), (2, 'b', 'two'), (3, NULL, 'three'), (4, 'd', 'four'), (9, 'z', 'nine');
--> INSERT 0 5
INSERT INTO c VALUES (10, 1, 'x'), (11, 1, 'y'), (12, 2, 'x'), (13, NULL, NULL), (14, 3, 'w');
--> INSERT 0 5
INSERT INTO n VALUES (20, 1), (21, 2), (22, NULL), (23, 1);
--> INSERT 0 4
INSERT INTO d VALUES (30, 1), (31, 2), (32, NULL), (33, 4);
--> INSERT 0 4
INSERT INTO k VALUES (40, 'a'), (41, 'b'), (42, NULL), (43, 'd');
--> INSERT 0 4
INSERT INTO g VALUES (50, 10), (51, 10), (52, 12), (53, 13), (54, NULL);
--> INSERT 0 5
INSERT INTO r VALUES (60, 14);
--> INSERT 0 1
DELETE FROM p WHERE id = 1;
--> DELETE 1
SELECT 'c', id, p FROM c UNION ALL SELECT 'n', id, p FROM n UNION ALL SELECT 'd', id, p FROM d UNION ALL SELECT 'k', id, length(code) FROM k UNION ALL SELECT 'g', id, c FROM g;
--> SELECT 17 c|12|2 c|13| c|14|3 d|30|9 d|31|2 d|32| d|33|4 g|52|12 g|53|13 g|54| k|41|1 k|42| k|43|1 n|20| n|21|2 n|22| n|23|
-- What refers to a row that would go stays as it was.
DELETE FROM p WHERE id = 3;
--> 23503
DELETE FROM p WHERE name = 'three' RETURNING id;
--> 23503
DELETE FROM p WHERE id = 77;
--> DELETE 0
DELETE FROM p WHERE name = 'nobody' RETURNING name;
--> DELETE 0
SELECT id FROM c;
--> SELECT 3 12 13 14
DELETE FROM p WHERE name LIKE 't%' AND id < 3 RETURNING id, name, upper(code);
--> DELETE 1 2|two|B
SELECT 'c', id, p FROM c UNION ALL SELECT 'n', id, p FROM n UNION ALL SELECT 'd', id, p FROM d UNION ALL SELECT 'k', id, length(code) FROM k UNION ALL SELECT 'g', id, c FROM g;
--> SELECT 14 c|13| c|14|3 d|30|9 d|31|9 d|32| d|33|4 g|53|13 g|54| k|42| k|43|1 n|20| n|21| n|22| n|23|
-- The default's own parent goes.
DELETE FROM p WHERE id = 9;
--> 23503
SELECT id, p FROM d;
--> SELECT 4 30|9 31|9 32| 33|4
DELETE FROM c WHERE id = 13 RETURNING *;
--> DELETE 1 13||
SELECT id, c FROM g;
--> SELECT 1 54|
DELETE FROM p WHERE code = 'd' RETURNING id;
--> DELETE 1 4
SELECT 'd', id, p FROM d UNION ALL SELECT 'k', id, length(code) FROM k;
--> SELECT 5 d|30|9 d|31|9 d|32| d|33|9 k|42|
SELECT conname, confdeltype, confupdtype FROM pg_constraint WHERE contype = 'f';
--> SELECT 6 c_p_fkey|c|a d_p_fkey|d|a g_c_fkey|c|a k_code_fkey|c|a n_p_fkey|n|a r_c_fkey|r|a
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f';
--> SELECT 6 FOREIGN KEY (c) REFERENCES c(id) ON DELETE CASCADE FOREIGN KEY (c) REFERENCES c(id) ON DELETE RESTRICT FOREIGN KEY (code) REFERENCES p(code) ON DELETE CASCADE FOREIGN KEY (p) REFERENCES p(id) ON DELETE CASCADE FOREIGN KEY (p) REFERENCES p(id) ON DELETE SET DEFAULT FOREIGN KEY (p) REFERENCES p(id) ON DELETE SET NULL
SELECT constraint_name, update_rule, delete_rule FROM information_schema.referential_constraints;
--> SELECT 6 c_p_fkey|NO ACTION|CASCADE d_p_fkey|NO ACTION|SET DEFAULT g_c_fkey|NO ACTION|CASCADE k_code_fkey|NO ACTION|CASCADE n_p_fkey|NO ACTION|SET NULL r_c_fkey|NO ACTION|RESTRICT
-- A tree, by itself and by way of another table.
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree (id) ON DELETE CASCADE);
--> CREATE TABLE
CREATE INDEX tree_up ON tree (up);
--> CREATE INDEX
INSERT INTO tree VALUES (1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (6, 1), (7, NULL), (8, 7), (9, 8);
--> INSERT 0 9
DELETE FROM tree WHERE id = 3;
--> DELETE 1
SELECT id, up FROM tree;
--> SELECT 6 1|1 2|1 6|1 7| 8|7 9|8
DELETE FROM tree WHERE id >= 8 OR id = 6 RETURNING id;
--> DELETE 3 6 8 9
DELETE FROM tree WHERE id = 1;
--> DELETE 1
SELECT id, up FROM tree;
--> SELECT 1 7|
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2);
--> INSERT 0 3
UPDATE tree SET up = 3 WHERE id = 1;
--> UPDATE 1
DELETE FROM tree;
--> DELETE 4
SELECT id, up FROM tree;
--> SELECT 0
CREATE TABLE folder (id int PRIMARY KEY, box int);
--> CREATE TABLE
CREATE TABLE box (id int PRIMARY KEY, folder int REFERENCES folder ON DELETE CASCADE);
--> CREATE TABLE
ALTER TABLE folder ADD CONSTRAINT folder_box FOREIGN KEY (box) REFERENCES box (id) ON DELETE CASCADE;
--> ALTER TABLE
INSERT INTO folder VALUES (1, NULL);
--> INSERT 0 1
INSERT INTO box VALUES (1, 1);
--> INSERT 0 1
INSERT INTO folder VALUES (2, 1), (3, 1);
--> INSERT 0 2
INSERT INTO box VALUES (2, 2), (3, 3), (4, 3);
--> INSERT 0 3
INSERT INTO folder VALUES (4, 4);
--> INSERT 0 1
UPDATE folder SET box = 4 WHERE id = 1;
--> UPDATE 1
DELETE FROM folder WHERE id = 2;
--> DELETE 1
SELECT 'f', id, box FROM folder UNION ALL SELECT 'b', id, folder FROM box;
--> SELECT 6 b|1|1 b|3|3 b|4|3 f|1|4 f|3|1 f|4|4
DELETE FROM box WHERE id = 3;
--> DELETE 1
DELETE FROM folder WHERE id = 4;
--> DELETE 1
SELECT 'f', id, box FROM folder UNION ALL SELECT 'b', id, folder FROM box;
--> SELECT 4 b|1|1 b|4|3 f|1|4 f|3|1
CREATE TABLE loose (id int PRIMARY KEY, up int REFERENCES loose ON DELETE SET NULL);
--> CREATE TABLE
INSERT INTO loose VALUES (1, NULL), (2, 1), (3, 2), (4, 4);
--> INSERT 0 4
DELETE FROM loose WHERE id = 2;
--> DELETE 1
SELECT id, up FROM loose;
--> SELECT 3 1| 3| 4|4
DELETE FROM loose WHERE id IN (1, 4);
--> DELETE 2
SELECT id, up FROM loose;
--> SELECT 1 3|
-- A diamond: what would stop the delete goes with it.
CREATE TABLE company (id int PRIMARY KEY);
--> CREATE TABLE
CREATE TABLE department (id int PRIMARY KEY, company int REFERENCES company ON DELETE CASCADE);
--> CREATE TABLE
CREATE TABLE employee (id int PRIMARY KEY, company int REFERENCES company ON DELETE CASCADE, department int REFERENCES department);
--> CREATE TABLE
INSERT INTO company VALUES (1), (2);
--> INSERT 0 2
INSERT INTO department VALUES (1, 1), (2, 1), (3, 2);
--> INSERT 0 3
INSERT INTO employee VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3);
--> INSERT 0 3
DELETE FROM department WHERE id = 1;
--> 23503
DELETE FROM company WHERE id = 1;
--> DELETE 1
SELECT 'd', id FROM department UNION ALL SELECT 'e', id FROM employee;
--> SELECT 2 d|3 e|3
-- Keys of several columns, and NOT NULL and CHECK of children.
CREATE TABLE pair (a int, b text, PRIMARY KEY (a, b));
--> CREATE TABLE
CREATE TABLE pairs (id int PRIMARY KEY, x int, y text NOT NULL, FOREIGN KEY (x, y) REFERENCES pair ON DELETE SET NULL);
--> CREATE TABLE
CREATE TABLE checked (id int PRIMARY KEY, x int CHECK (x IS NOT NULL), y text, FOREIGN KEY (y, x) REFERENCES pair (b, a) ON DELETE SET NULL);
--> CREATE TABLE
INSERT INTO pair VALUES (1, 'a'), (1, 'b'), (2, 'a');
--> INSERT 0 3
INSERT INTO pairs VALUES (1, 1, 'a'), (2, NULL, 'q');
--> INSERT 0 2
INSERT INTO checked VALUES (1, 1, 'b'), (2, 2, 'a');
--> INSERT 0 2
DELETE FROM pair WHERE a = 1 AND b = 'a';
--> 23502
DELETE FROM pair WHERE b = 'b';
--> 23514
SELECT * FROM pairs;
--> SELECT 2 1|1|a 2||q
-- Procedures, and a child that comes after them.
CREATE INDEX ON department (company);
--> CREATE INDEX
CREATE INDEX ON employee (company);
--> CREATE INDEX
CREATE INDEX ON employee (department);
--> CREATE INDEX
CREATE FUNCTION drop_company(c int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE found_id int; BEGIN DELETE FROM company WHERE id = c RETURNING id INTO found_id; IF NOT FOUND THEN RETURN -1; END IF; RETURN found_id; END $$;
--> CREATE FUNCTION
SELECT drop_company(1);
--> SELECT 1 -1
CREATE TABLE badge (id int PRIMARY KEY, company int);
--> CREATE TABLE
CREATE INDEX ON badge (company);
--> CREATE INDEX
ALTER TABLE badge ADD FOREIGN KEY (company) REFERENCES company ON DELETE SET NULL;
--> ALTER TABLE
INSERT INTO company VALUES (7);
--> INSERT 0 1
INSERT INTO badge VALUES (1, 7), (2, 2);
--> INSERT 0 2
SELECT drop_company(7);
--> SELECT 1 7
SELECT id, company FROM badge;
--> SELECT 2 1| 2|2
SELECT drop_company(2);
--> SELECT 1 2
SELECT id, company FROM badge;
--> SELECT 2 1| 2|
SELECT count(*) FROM employee;
--> SELECT 1 0
CREATE FUNCTION prune(low int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE gone int; BEGIN DELETE FROM tree WHERE id >= low AND up IS NULL; GET DIAGNOSTICS gone = ROW_COUNT; RETURN gone; END $$;
--> CREATE FUNCTION
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, NULL), (5, 4), (6, 5), (7, 5);
--> INSERT 0 7
UPDATE tree SET up = up WHERE id = 2;
--> UPDATE 1
SELECT prune(3);
--> SELECT 1 1
SELECT id, up FROM tree;
--> SELECT 3 1| 2|1 3|2
SELECT prune(100);
--> SELECT 1 0
CREATE FUNCTION one_of_many() RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; BEGIN DELETE FROM tree WHERE id > 0 RETURNING id INTO x; RETURN x; END $$;
--> CREATE FUNCTION
SELECT one_of_many();
--> P0003
CREATE PROCEDURE fell(at int) LANGUAGE plpgsql AS $$ BEGIN DELETE FROM tree WHERE id = at; DELETE FROM tree WHERE up = at; END $$;
--> CREATE PROCEDURE
UPDATE tree SET up = 3 WHERE id = 1;
--> UPDATE 1
CALL fell(2);
--> CALL
SELECT id, up FROM tree;
--> SELECT 0
TRUNCATE company CASCADE;
--> TRUNCATE TABLE
SELECT count(*) FROM badge;
--> SELECT 1 0
