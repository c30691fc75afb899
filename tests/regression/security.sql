-- Row security and INSTEAD OF triggers; the statements of the cases of the same names.

-- policies show each role its rows, in statements and in procedures
CREATE ROLE ann;
CREATE ROLE bob;
CREATE TABLE note (id integer PRIMARY KEY, owner text NOT NULL, body text);
INSERT INTO note VALUES (1, 'ann', 'a'), (2, 'bob', 'b'), (3, 'ann', 'c');
GRANT SELECT, INSERT, UPDATE, DELETE ON note TO ann, bob;
CREATE FUNCTION count_notes() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN SELECT count(*) INTO n FROM note; RETURN n; END $$;
CREATE FUNCTION body_of(i integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t text;
BEGIN SELECT body INTO t FROM note WHERE id = i; RETURN t; END $$;
CREATE FUNCTION all_notes() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE n bigint;
BEGIN SELECT count(*) INTO n FROM note; RETURN n; END $$;
SET ROLE ann;
SELECT count_notes();
RESET ROLE;
ALTER TABLE note ENABLE ROW LEVEL SECURITY;
SET ROLE ann;
SELECT * FROM note ORDER BY id;
SELECT count_notes();
SELECT all_notes();
RESET ROLE;
CREATE POLICY own ON note USING (owner = current_user);
SELECT id FROM note ORDER BY id;
SELECT count_notes();
SET ROLE ann;
SELECT id FROM note ORDER BY id;
SELECT body FROM note WHERE id = 2;
SELECT body FROM note WHERE id = 3;
SELECT count(*) FROM note a JOIN note b ON a.id <= b.id;
SELECT a.id, b.id FROM note a LEFT JOIN note b ON b.id = a.id + 1 ORDER BY 1;
SELECT (SELECT count(*) FROM note), EXISTS (SELECT 1 FROM note WHERE id = 2);
SELECT count_notes();
SELECT body_of(2);
SELECT body_of(1);
SELECT all_notes();
UPDATE note SET body = 'x' WHERE id = 2;
UPDATE note SET body = 'x' WHERE id = 1;
UPDATE note SET body = body || '!';
UPDATE note SET owner = 'bob' WHERE id = 1;
DELETE FROM note WHERE id = 2;
INSERT INTO note VALUES (4, 'ann', 'd');
INSERT INTO note VALUES (5, 'bob', 'e');
INSERT INTO note VALUES (6, 'ann', 'f'), (7, 'bob', 'g');
INSERT INTO note SELECT id + 10, owner, body FROM note;
SET ROLE bob;
SELECT id FROM note ORDER BY id;
SELECT count_notes();
SELECT body_of(1);
SELECT body_of(2);
DELETE FROM note;
RESET ROLE;
SELECT id, owner, body FROM note ORDER BY id;
RESET ROLE;
DROP TABLE IF EXISTS note CASCADE;
DROP FUNCTION IF EXISTS count_notes CASCADE;
DROP FUNCTION IF EXISTS body_of CASCADE;
DROP FUNCTION IF EXISTS all_notes CASCADE;
DROP ROLE ann;
DROP ROLE bob;

-- permissive policies admit, restrictive ones keep out, and each is for some roles and commands
CREATE ROLE clerk;
CREATE ROLE boss;
CREATE ROLE staff;
GRANT staff TO clerk;
CREATE TABLE doc (id integer PRIMARY KEY, level integer NOT NULL, open boolean NOT NULL);
INSERT INTO doc VALUES (1, 1, true), (2, 2, true), (3, 1, false), (4, 9, true);
GRANT SELECT, INSERT, UPDATE, DELETE ON doc TO staff, boss;
ALTER TABLE doc ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON doc FOR SELECT TO staff USING (level < 5);
CREATE POLICY any_level ON doc TO boss USING (true);
CREATE POLICY opened ON doc AS RESTRICTIVE TO clerk USING (open);
CREATE POLICY adds ON doc FOR INSERT TO staff WITH CHECK (level = 1);
CREATE POLICY changes ON doc FOR UPDATE TO staff USING (level = 1) WITH CHECK (level < 3);
SET ROLE clerk;
SELECT id FROM doc ORDER BY id;
INSERT INTO doc VALUES (5, 1, true);
INSERT INTO doc VALUES (6, 2, true);
INSERT INTO doc VALUES (6, 1, false);
UPDATE doc SET level = 2 WHERE id IN (1, 2, 3);
UPDATE doc SET level = 3 WHERE id = 5;
DELETE FROM doc;
SET ROLE staff;
SELECT id FROM doc ORDER BY id;
SET ROLE boss;
SELECT id FROM doc ORDER BY id;
DELETE FROM doc WHERE id = 4;
RESET ROLE;
ALTER POLICY low ON doc TO staff, boss USING (level = 2);
DROP POLICY any_level ON doc;
SET ROLE boss;
SELECT id FROM doc ORDER BY id;
RESET ROLE;
DROP POLICY any_level ON doc;
DROP POLICY IF EXISTS any_level ON doc;
ALTER POLICY low ON doc RENAME TO two;
CREATE POLICY two ON doc USING (true);
SELECT policyname, permissive, roles, cmd FROM pg_policies ORDER BY 1;
SELECT polname, polcmd, polpermissive FROM pg_policy ORDER BY 1;
SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'doc';
RESET ROLE;
DROP TABLE IF EXISTS doc CASCADE;
DROP ROLE clerk;
DROP ROLE boss;
DROP ROLE staff;

-- owners, superusers and BYPASSRLS see all rows; FORCE makes the owner one of many
CREATE ROLE keeper;
CREATE ROLE auditor BYPASSRLS;
CREATE ROLE reader;
GRANT CREATE ON SCHEMA public TO keeper;
SET ROLE keeper;
CREATE TABLE box (id integer PRIMARY KEY, holder text);
INSERT INTO box VALUES (1, 'keeper'), (2, 'reader');
GRANT SELECT ON box TO auditor, reader;
ALTER TABLE box ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON box USING (holder = current_user);
SELECT count(*) FROM box;
ALTER TABLE box FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM box;
RESET ROLE;
SELECT count(*) FROM box;
SET ROLE auditor;
SELECT count(*) FROM box;
SET ROLE reader;
SELECT id FROM box;
ALTER TABLE box DISABLE ROW LEVEL SECURITY;
CREATE POLICY more ON box USING (true);
SET row_security TO off;
SELECT id FROM box;
RESET row_security;
RESET ROLE;
ALTER TABLE box NO FORCE ROW LEVEL SECURITY;
SET ROLE keeper;
SELECT count(*) FROM box;
RESET ROLE;
ALTER TABLE box DISABLE ROW LEVEL SECURITY;
SET ROLE reader;
SELECT count(*) FROM box;
RESET ROLE;
DROP ROLE reader;
RESET ROLE;
DROP TABLE IF EXISTS box CASCADE;
REVOKE CREATE ON SCHEMA public FROM keeper;
DROP ROLE keeper;
DROP ROLE auditor;
DROP ROLE reader;

-- policies with subqueries, and settings of the session
CREATE ROLE ann;
CREATE TABLE team (name text PRIMARY KEY, member text NOT NULL);
CREATE TABLE task (id integer PRIMARY KEY, team text NOT NULL, tenant integer NOT NULL);
INSERT INTO team VALUES ('red', 'ann'), ('blue', 'bob');
INSERT INTO task VALUES (1, 'red', 1), (2, 'blue', 1), (3, 'red', 2);
GRANT SELECT ON team TO ann;
GRANT SELECT, INSERT, UPDATE, DELETE ON task TO ann;
ALTER TABLE task ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_team ON task
  USING (EXISTS (SELECT 1 FROM team t WHERE t.name = task.team AND t.member = current_user));
CREATE FUNCTION tasks() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN SELECT count(*) INTO n FROM task; RETURN n; END $$;
CREATE FUNCTION add_task(i integer, t text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN INSERT INTO task VALUES (i, t, 1); END $$;
SET ROLE ann;
SELECT id FROM task ORDER BY id;
SELECT tasks();
SELECT add_task(4, 'red');
SELECT add_task(5, 'blue');
INSERT INTO task VALUES (6, 'blue', 1);
INSERT INTO task VALUES (6, 'red', 1);
UPDATE task SET tenant = tenant + 1 WHERE id < 4;
DELETE FROM task WHERE id = 6;
DELETE FROM task WHERE id = 2;
RESET ROLE;
CREATE POLICY of_tenant ON task AS RESTRICTIVE
  USING (tenant = current_setting('app.tenant', true)::integer);
SET ROLE ann;
SET app.tenant TO '3';
SELECT id FROM task ORDER BY id;
SELECT tasks();
SET app.tenant TO '1';
SELECT tasks();
SELECT id FROM task;
RESET ROLE;
SELECT id, tenant FROM task ORDER BY id;
RESET ROLE;
DROP TABLE IF EXISTS task CASCADE;
DROP TABLE IF EXISTS team CASCADE;
DROP FUNCTION IF EXISTS tasks CASCADE;
DROP FUNCTION IF EXISTS add_task CASCADE;
DROP ROLE ann;

-- ON CONFLICT, RETURNING, views, triggers and foreign keys
CREATE ROLE ann;
CREATE TABLE person (id integer PRIMARY KEY);
CREATE TABLE item (id integer PRIMARY KEY, owner text NOT NULL, n integer,
  person integer REFERENCES person ON DELETE CASCADE);
INSERT INTO person VALUES (1), (2);
INSERT INTO item VALUES (1, 'ann', 1, 1), (2, 'bob', 2, 1);
GRANT SELECT, INSERT, UPDATE, DELETE ON item, person TO ann;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON item USING (owner = current_user);
CREATE VIEW everything AS SELECT id, owner, n FROM item;
GRANT SELECT, UPDATE ON everything TO ann;
SET ROLE ann;
INSERT INTO item VALUES (1, 'ann', 7) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING n;
INSERT INTO item VALUES (2, 'ann', 7) ON CONFLICT (id) DO UPDATE SET n = excluded.n;
INSERT INTO item VALUES (2, 'ann', 7) ON CONFLICT (id) DO NOTHING;
INSERT INTO item VALUES (2, 'ann', 7);
SELECT id FROM everything ORDER BY id;
UPDATE everything SET n = 3 WHERE id = 2;
WITH gone AS (DELETE FROM item RETURNING id) SELECT id FROM gone;
DELETE FROM person WHERE id = 1;
RESET ROLE;
SELECT count(*) FROM item;
CREATE FUNCTION sign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.owner := current_user; RETURN NEW; END $$;
CREATE TRIGGER signs BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION sign();
SET ROLE ann;
INSERT INTO item VALUES (5, 'nobody', 1) RETURNING owner;
RESET ROLE;
INSERT INTO item VALUES (6, 'nobody', 1) RETURNING owner <> 'nobody';
RESET ROLE;
DROP TABLE IF EXISTS item CASCADE;
DROP TABLE IF EXISTS person CASCADE;
DROP FUNCTION IF EXISTS sign CASCADE;
DROP ROLE ann;

-- what is wrong with a policy is told when it is made, or when it is used
CREATE TABLE t (a integer PRIMARY KEY, b integer);
CREATE TABLE u (a integer);
CREATE POLICY p ON t FOR SELECT USING (a > 0) WITH CHECK (a > 0);
CREATE POLICY p ON t FOR INSERT USING (a > 0);
CREATE POLICY p ON t USING (c > 0);
CREATE POLICY p ON t USING (a);
CREATE POLICY p ON t USING (sum(a) > 0);
CREATE POLICY p ON t TO nobody_at_all USING (true);
CREATE POLICY p ON missing USING (true);
CREATE ROLE ann;
GRANT SELECT ON t TO ann;
CREATE POLICY p ON t USING (b < (SELECT max(b) FROM t));
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE ann;
SELECT * FROM t;
RESET ROLE;
ALTER TABLE t DROP COLUMN b;
DROP POLICY p ON t;
ALTER TABLE t DROP COLUMN b;
SELECT a FROM t;
RESET ROLE;
DROP TABLE IF EXISTS u CASCADE;
DROP TABLE IF EXISTS t CASCADE;
DROP ROLE ann;

-- a view of two tables is written by its triggers, in statements and procedures
CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE phone (person integer PRIMARY KEY, number text);
CREATE VIEW contact AS SELECT p.id, p.name, q.number FROM person p LEFT JOIN phone q ON q.person = p.id;
INSERT INTO contact VALUES (1, 'ann', '1');
CREATE FUNCTION write_contact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.name IS NULL THEN RETURN NULL; END IF;
    INSERT INTO person VALUES (NEW.id, NEW.name);
    INSERT INTO phone VALUES (NEW.id, NEW.number);
    NEW.name := upper(NEW.name);
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE person SET name = NEW.name WHERE id = OLD.id;
    UPDATE phone SET number = NEW.number WHERE person = OLD.id;
    RETURN NEW;
  END IF;
  DELETE FROM phone WHERE person = OLD.id;
  DELETE FROM person WHERE id = OLD.id;
  RETURN OLD;
END $$;
CREATE TRIGGER writes INSTEAD OF INSERT OR UPDATE OR DELETE ON contact
  FOR EACH ROW EXECUTE FUNCTION write_contact();
INSERT INTO contact VALUES (1, 'ann', '11'), (2, 'bob', '22');
INSERT INTO contact (name, id) VALUES ('cid', 3) RETURNING name, number;
INSERT INTO contact VALUES (4, NULL, '44');
INSERT INTO contact SELECT id + 10, name || '!', number FROM contact WHERE id < 3;
SELECT * FROM contact ORDER BY id;
UPDATE contact SET number = number || '0', name = name || id WHERE id IN (1, 2);
UPDATE contact AS c SET name = 'x' WHERE c.number = '110' RETURNING c.id, name;
DELETE FROM contact WHERE id > 10 RETURNING name;
CREATE FUNCTION rename_contact(i integer, t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  UPDATE contact SET name = t WHERE id = i RETURNING name INTO r;
  IF NOT FOUND THEN RETURN 'nobody'; END IF;
  RETURN r;
END $$;
SELECT rename_contact(2, 'bea');
SELECT rename_contact(9, 'nobody');
SELECT * FROM person ORDER BY id;
SELECT * FROM phone ORDER BY person;
INSERT INTO contact (nothing) VALUES (1);
DELETE FROM contact;
SELECT count(*) FROM person;
RESET ROLE;
DROP TABLE IF EXISTS phone CASCADE;
DROP TABLE IF EXISTS person CASCADE;
DROP FUNCTION IF EXISTS write_contact CASCADE;
DROP FUNCTION IF EXISTS rename_contact CASCADE;

-- another function takes the old one's place, and triggers go with their views
CREATE TABLE t (a integer PRIMARY KEY, b integer);
CREATE VIEW v AS SELECT a, b FROM t;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO t VALUES (NEW.a, 1); RETURN NEW; END $$;
CREATE TRIGGER g INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION f();
CREATE PROCEDURE p(i integer) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO v VALUES (i, 9); END $$;
CALL p(1);
CREATE OR REPLACE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO t VALUES (NEW.a, NEW.b + 1); RETURN NEW; END $$;
CALL p(2);
INSERT INTO v VALUES (3, 3);
UPDATE v SET b = 0 WHERE a = 3;
SELECT * FROM t ORDER BY a;
DROP FUNCTION f();
CREATE OR REPLACE VIEW v AS SELECT a, b FROM t WHERE a < 100;
CALL p(4);
SELECT b FROM t WHERE a = 4;
DROP TRIGGER g ON v;
INSERT INTO v VALUES (5, 5);
SELECT b FROM t WHERE a = 5;
DROP TRIGGER g ON v;
DROP TRIGGER IF EXISTS g ON v;
RESET ROLE;
DROP PROCEDURE p;
DROP TABLE IF EXISTS t CASCADE;
DROP FUNCTION IF EXISTS f CASCADE;

-- what cannot be said of a view's triggers
CREATE TABLE t (a integer PRIMARY KEY);
CREATE VIEW v AS SELECT a FROM t;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER g INSTEAD OF INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER g BEFORE INSERT ON v FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER g INSTEAD OF INSERT ON v FOR EACH STATEMENT EXECUTE FUNCTION f();
CREATE TRIGGER g INSTEAD OF INSERT ON v FOR EACH ROW WHEN (NEW.a > 1) EXECUTE FUNCTION f();
CREATE TRIGGER g INSTEAD OF UPDATE OF a ON v FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER g INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER g INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION f();
INSERT INTO v VALUES (1) ON CONFLICT DO NOTHING;
CREATE ROLE ann;
SET ROLE ann;
INSERT INTO v VALUES (1);
RESET ROLE;
SELECT count(*) FROM t;
SELECT tgname, tgtype FROM pg_trigger;
RESET ROLE;
DROP TABLE IF EXISTS t CASCADE;
DROP FUNCTION IF EXISTS f CASCADE;
DROP ROLE ann;
