-- Statements that ended a server, took seconds and could not be ended, or took gibibytes, in 2026. A name, and
-- below it what is sent.

-- regexp_replace of a square
SELECT length(regexp_replace(repeat('x', 1000000), 'x', repeat('y', 1000000), 'g'))

-- replace of a square
SELECT length(replace(repeat('x', 1000000), 'x', repeat('y', 1000000)))

-- repeat of a repeat
SELECT length(repeat(repeat('x', 100000), 100000))

-- lpad
SELECT length(lpad('x', 2000000000, 'y'))

-- array_to_string
SELECT length(array_to_string(string_to_array(repeat('x', 1000000), NULL), repeat('y', 100000)))

-- string_to_array
SELECT array_length(string_to_array(repeat('x,', 50000000), ','), 1)

-- string_agg
SELECT length(string_agg(repeat('x', 1000000), ',')) FROM generate_series(1, 100000)

-- array_agg
SELECT array_length(array_agg(repeat('x', 1000000)), 1) FROM generate_series(1, 100000)

-- json_agg
SELECT length(json_agg(repeat('x', 1000000))::text) FROM generate_series(1, 100000)

-- DISTINCT of long text
SELECT count(*) FROM (SELECT DISTINCT repeat('x', 1000000) || g FROM generate_series(1, 20000) g) q

-- window over long text
SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY repeat('x', 1000000) || g) FROM generate_series(1, 20000) g) q

-- GROUP BY long text
SELECT count(*) FROM (SELECT repeat('x', 1000000) || g FROM generate_series(1, 20000) g GROUP BY 1) q

-- ORDER BY long text
SELECT repeat('x', 1000000) || g FROM generate_series(1, 20000) g ORDER BY 1 DESC LIMIT 1

-- UNION of long text
SELECT count(*) FROM (SELECT repeat('x', 1000000) || g FROM generate_series(1, 20000) g UNION SELECT 'x') q

-- cross join
SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b

-- cross join of rows
SELECT a, b FROM generate_series(1, 100000) a, generate_series(1, 100000) b

-- generate_series
SELECT count(*) FROM generate_series(1, 9223372036854775807)

-- recursion without end
WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r) SELECT count(*) FROM r

-- recursion that doubles text
WITH RECURSIVE r AS (SELECT 'xx' AS k UNION ALL SELECT k || k FROM r) SELECT count(*) FROM r

-- recursion that doubles rows
WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k FROM r, generate_series(1, 2)) SELECT count(*) FROM r

-- LIKE
SELECT repeat('x', 1000000) LIKE repeat('%x', 10000) || 'y'

-- LIKE with underscores
SELECT repeat('x', 3000000) LIKE '%' || repeat('_', 1000000) || 'y'

-- strpos
SELECT strpos(repeat('x', 10000000), repeat('x', 5000000) || 'y')

-- position
SELECT position(repeat('x', 5000000) || 'y' IN repeat('x', 10000000))

-- translate
SELECT length(translate(repeat('abc', 3000000), repeat('x', 100000), repeat('y', 100000)))

-- split_part
SELECT split_part(repeat('x,', 20000000), ',', 19999999)

-- regexp
SELECT repeat('a', 1000000) ~ '(a*)*(a*)*(a*)*b'

-- regexp counted
SELECT 'x' ~ '((((((a{100}){100}){100}){100}){100}){100})'

-- regexp_matches
SELECT count(*) FROM (SELECT regexp_matches(repeat('ab', 5000000), 'a', 'g')) q

-- regexp_split
SELECT count(*) FROM (SELECT regexp_split_to_table(repeat('ab', 5000000), 'a')) q

-- power
SELECT power(10::numeric, 100000)

-- factorial by numeric
SELECT 9999999999999999999999999999999999999::numeric * 99999999999999::numeric

-- many rows returned
SELECT repeat('x', 1000) FROM generate_series(1, 1000000)

-- copy of many rows
COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000)) TO STDOUT

-- text doubled in a loop
DO $$ DECLARE t text := 'x'; BEGIN FOR i IN 1..2000000000 LOOP t := t || t; END LOOP; END $$

-- text doubled by concat
DO $$ DECLARE t text := 'x'; BEGIN FOR i IN 1..2000000000 LOOP t := concat(t, t); END LOOP; END $$

-- text grown slowly
DO $$ DECLARE t text := ''; BEGIN FOR i IN 1..2000000000 LOOP t := t || 'x'; END LOOP; END $$

-- json grown slowly
DO $$ DECLARE j jsonb := '[]'; BEGIN FOR i IN 1..2000000000 LOOP j := j || '[1]'; END LOOP; END $$

-- json doubled in a loop
DO $$ DECLARE j jsonb := '[1]'; BEGIN FOR i IN 1..2000000000 LOOP j := jsonb_build_array(j, j); END LOOP; END $$

-- array grown slowly
DO $$ DECLARE a integer[] := '{}'; BEGIN FOR i IN 1..2000000000 LOOP a := a || 1; END LOOP; END $$

-- array of texts grown
DO $$ DECLARE a text[] := '{}'; BEGIN FOR i IN 1..2000000000 LOOP a := a || repeat('x', 1000000); END LOOP; END $$

-- notices without end
DO $$ BEGIN FOR i IN 1..2000000000 LOOP RAISE NOTICE '%', repeat('x', 10000); END LOOP; END $$

-- an endless loop
DO $$ BEGIN FOR i IN 1..2000000000 LOOP NULL; END LOOP; END $$

-- an endless loop of LIKE
DO $$ DECLARE b boolean; BEGIN FOR i IN 1..2000000000 LOOP b := repeat('x', 100000) LIKE repeat('%x', 1000) || 'y'; END LOOP; END $$

-- an endless loop of reads
DO $$ DECLARE i integer; BEGIN FOR i IN 1..2000000000 LOOP SELECT n INTO i FROM bystander WHERE id = 6; END LOOP; END $$

-- an endless loop of changes
DO $$ BEGIN FOR i IN 1..2000000000 LOOP UPDATE bystander SET n = n + 1 WHERE id = 6; END LOOP; END $$

-- an exception
DO $$ DECLARE t text; BEGIN t := repeat('x', 100000000); RAISE EXCEPTION '% %', t, t; END $$

-- json_each of a number
SELECT json_each(1)

-- jsonb_array_elements of a number
SELECT jsonb_array_elements(1)

-- jsonb_object_keys of a number
SELECT * FROM jsonb_object_keys(1)

-- date_trunc of two times
SELECT date_trunc(now(), now())

-- unnest of a number
SELECT unnest(1)

-- array_length of a number
SELECT array_length(1, 1)

-- heap doubled
INSERT INTO heap SELECT g, repeat('x', 1000) FROM generate_series(1, 20000) g; DELETE FROM heap

-- heap beyond memory
INSERT INTO heap SELECT g, repeat('x', 1000) FROM generate_series(1, 100000000) g

-- one insert of a long value
INSERT INTO heap VALUES (1, repeat('x', 500000000)); DELETE FROM heap

-- sleep
SELECT pg_sleep(3600)

-- a lock nobody gives
SELECT pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_unlock_all()

-- rows returned
CREATE OR REPLACE FUNCTION grown() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..100000 LOOP RETURN NEXT repeat('x', 1000000); END LOOP; END $$; SELECT count(*) FROM grown()
