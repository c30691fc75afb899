// Statements that would take more memory than any machine has, or more time than anybody waits.
// Plain data: whoever runs them includes this file. None needs a table.

/// Before any of them.
pub const PREPARATION: &str = "
    CREATE FUNCTION next_large() RETURNS SETOF text LANGUAGE plpgsql AS $$
    BEGIN FOR i IN 1..100000 LOOP RETURN NEXT repeat('x', 1000000); END LOOP; END $$;
    CREATE FUNCTION next_same() RETURNS SETOF text LANGUAGE plpgsql AS $$
    DECLARE t text := repeat('x', 1000000);
    BEGIN FOR i IN 1..100000 LOOP RETURN NEXT t; END LOOP; END $$;
    CREATE FUNCTION doubled(n integer) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE t text := 'x';
    BEGIN FOR i IN 1..n LOOP t := t || t; END LOOP; RETURN length(t); END $$;
    CREATE FUNCTION spin(n integer) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE s bigint := 0;
    BEGIN FOR i IN 1..n LOOP FOR j IN 1..n LOOP s := s + 1; END LOOP; END LOOP; RETURN s; END $$;
    CREATE FUNCTION like_slowly(n integer) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN RETURN repeat('a', n) LIKE '%' || repeat('_a', n / 4) || 'b%'; END $$;
";

/// Statements, each of which needs more memory than a statement has. They end with 53200 or 54000.
pub const LARGE: &[&str] = &[
    "DO $$ DECLARE t text := 'x'; BEGIN FOR i IN 1..40 LOOP t := t || t; END LOOP; END $$",
    "DO $$ DECLARE t text := 'x'; BEGIN FOR i IN 1..40 LOOP t := concat(t, t); END LOOP; END $$",
    "DO $$ DECLARE t text := 'x'; BEGIN
     FOR i IN 1..40 LOOP t := replace(t, 'x', 'xx'); END LOOP; END $$",
    "DO $$ DECLARE j jsonb := '[1]'; BEGIN FOR i IN 1..40 LOOP j := j || j; END LOOP; END $$",
    "DO $$ DECLARE t text; BEGIN FOR i IN 1..100 LOOP t := repeat('x', 100000000); END LOOP;
     END $$",
    "DO $$ DECLARE t text := repeat('x', 1000000); BEGIN
     FOR i IN 1..1000 LOOP RAISE NOTICE '%', t; END LOOP; END $$",
    "SELECT doubled(40)",
    "SELECT length(regexp_replace(repeat('x', 1000000), 'x', repeat('y', 1000000), 'g'))",
    "SELECT length(replace(repeat('x', 1000000), 'x', repeat('y', 1000000)))",
    "SELECT length(array_to_string(string_to_array(repeat('x,', 20000000), ','), ','))",
    "SELECT array_length(string_to_array(repeat('x,', 20000000), ','), 1)",
    "SELECT length(lpad('x', 60000000, 'y') || rpad('x', 60000000, 'z'))",
    "SELECT length(upper(repeat('\u{df}', 40000000)))",
    "SELECT length(quote_literal(repeat('''', 60000000)))",
    "SELECT length(to_json(repeat('\"', 30000000))::text)",
    "SELECT length(json_build_array(repeat('x', 30000000), repeat('y', 40000000))::text)",
    "SELECT count(*) FROM next_large()",
    "SELECT * FROM next_large()",
    "SELECT count(*) FROM next_same()",
    "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)",
    "SELECT length(string_agg(repeat('x', 100000), ',')) FROM generate_series(1, 10000)",
    "SELECT array_length(array_agg(repeat('x', 100000)), 1) FROM generate_series(1, 10000)",
    "SELECT length(json_agg(repeat('x', 100000))::text) FROM generate_series(1, 10000)",
    "SELECT length(jsonb_agg(n)::text) FROM generate_series(1, 100000000) n",
    "SELECT count(*) FROM (SELECT DISTINCT repeat(n::text, 20000) FROM generate_series(1,
     10000) n) x",
    "SELECT count(*) FROM (SELECT repeat('x', 20000) AS t FROM generate_series(1, 10000) n
     ORDER BY 1) x",
    "SELECT repeat(n::text, 20000), count(*) FROM generate_series(1, 10000) n GROUP BY 1",
    "SELECT count(*) FROM (SELECT first_value(repeat('x', 20000)) OVER () FROM
     generate_series(1, 10000)) x",
    "SELECT lag(t) OVER () FROM (SELECT repeat('x', 10000) AS t FROM generate_series(1, 10000)) x",
    "SELECT string_agg('xxxxxxxxxx', '') OVER (ORDER BY n) FROM generate_series(1, 100000) n",
    "WITH RECURSIVE r AS (SELECT repeat('x', 1000) AS t UNION ALL SELECT t || t FROM r)
     SELECT count(*) FROM r",
    "SELECT count(*) FROM (SELECT repeat(n::text, 20000) FROM generate_series(1, 10000) n
     UNION SELECT 'x') x",
    "SELECT 'x' EXCEPT SELECT repeat(n::text, 20000) FROM generate_series(1, 10000) n",
    "SELECT count(*) FROM (SELECT 1 AS one) l
     JOIN (SELECT 1 AS one, repeat('x', 20000) FROM generate_series(1, 10000)) r ON l.one = r.one",
    "SELECT * FROM generate_series(1, 100000000)",
    "SELECT ARRAY(SELECT repeat('x', 20000) FROM generate_series(1, 10000))",
];

/// Statements that would run for many seconds, mostly inside one function. They end with 57014 soon
/// after they are cancelled.
pub const LONG: &[&str] = &[
    "SELECT spin(2000000000)",
    "SELECT like_slowly(4000000)",
    "SELECT repeat('a', 8000000) LIKE '%' || repeat('_a', 2000000) || 'b%'",
    "SELECT count(*) FROM generate_series(1, 100000000000)",
    "SELECT count(*) FROM generate_series(1, 3000000) a, generate_series(1, 3000000) b WHERE a
     + b = 0",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT 1 - n FROM r) SELECT n FROM r WHERE n = 5",
    "SELECT count(*) FROM generate_series(1, 100000000) n WHERE repeat('x', 1000) LIKE '%y%'",
    "DO $$ BEGIN FOR i IN 1..2000000000 LOOP FOR j IN 1..2000000000 LOOP NULL; END LOOP; END
     LOOP; END $$",
    "DO $$ DECLARE t text := repeat('ab', 2000000); BEGIN
     FOR i IN 1..2000000000 LOOP t := reverse(t); t := upper(lower(t)); END LOOP; END $$",
    "DO $$ BEGIN FOR i IN 1..2000000000 LOOP PERFORM btrim(repeat('x', 1000000), repeat('y',
     1000000) || 'x'); END LOOP; END $$",
];
