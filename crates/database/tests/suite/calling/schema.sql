CREATE TABLE player (id bigint PRIMARY KEY, gold bigint NOT NULL CHECK (gold >= 0));
CREATE TABLE thing (player bigint NOT NULL, item text NOT NULL, n bigint NOT NULL,
    PRIMARY KEY (player, item));
CREATE TABLE said (number bigint PRIMARY KEY, what text);
INSERT INTO player VALUES (1, 100), (2, 50), (3, 10);
INSERT INTO thing VALUES (1, 'sword', 3), (2, 'ore', 5), (3, 'ore', 1);

CREATE FUNCTION give(p_from bigint, p_to bigint, p_item text, p_n bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE v_n bigint;
BEGIN
  SELECT n INTO v_n FROM thing WHERE player = p_from AND item = p_item FOR UPDATE;
  IF v_n IS NULL OR v_n < p_n THEN
    RAISE EXCEPTION USING ERRCODE = 'TR001', MESSAGE = 'player ' || p_from || ' has not ' || p_n || ' of ' || p_item;
  END IF;
  IF v_n = p_n THEN
    DELETE FROM thing WHERE player = p_from AND item = p_item;
  ELSE
    UPDATE thing SET n = n - p_n WHERE player = p_from AND item = p_item;
  END IF;
  INSERT INTO thing (player, item, n) VALUES (p_to, p_item, p_n)
  ON CONFLICT (player, item) DO UPDATE SET n = thing.n + excluded.n;
END $$;

CREATE FUNCTION trade(p_a bigint, p_b bigint, item_a text, n_a bigint, item_b text, n_b bigint)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM give(p_a, p_b, item_a, n_a);
  PERFORM give(p_from => p_b, p_to => p_a, p_n => n_b, p_item => item_b);
  RETURN 'traded';
END $$;

-- what it calls raises, and is undone
CREATE FUNCTION try_trade(p_a bigint, p_b bigint, item_a text, n_a bigint, item_b text, n_b bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  r := trade(p_a, p_b, item_a, n_a, item_b, n_b);
  RETURN r;
EXCEPTION WHEN SQLSTATE 'TR001' THEN
  RETURN SQLERRM;
END $$;

CREATE FUNCTION gold_of(which bigint, otherwise bigint DEFAULT -1) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE g bigint;
BEGIN
  SELECT gold INTO g FROM player WHERE id = which;
  IF NOT FOUND THEN RETURN otherwise; END IF;
  RETURN g;
END $$;

CREATE FUNCTION double(x bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT x * 2 $$;

-- in expressions: arguments, conditions, loops' bounds, declarations, RETURN
CREATE FUNCTION in_expressions(p bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a bigint := gold_of(p); t text := ''; i bigint := 0;
BEGIN
  IF gold_of(p) > 60 AND a > 0 THEN t := 'rich '; END IF;
  IF gold_of(p, 7) = 7 THEN t := t || 'seven '; ELSIF double(gold_of(p)) = 100 THEN t := t || 'fifty '; END IF;
  WHILE double(i) < gold_of(3) LOOP i := i + 2; END LOOP;
  FOR k IN double(1)..double(2) LOOP t := t || k || ' '; END LOOP;
  CASE double(i) WHEN 11 THEN t := t || 'no'; WHEN 12 THEN t := t || 'twelve'; ELSE t := t || 'else'; END CASE;
  IF double(p) BETWEEN 3 AND 5 OR p IS NULL THEN t := t || ' between'; END IF;
  RETURN t || ' ' || double(double(p)) + a;
END $$;

-- FOUND and ROW_COUNT are everybody's own
CREATE FUNCTION own_found(p bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before boolean; inside bigint; x bigint; after boolean; performed boolean; n bigint;
BEGIN
  UPDATE player SET gold = gold WHERE id = 77;
  before := FOUND;
  x := gold_of(1);
  after := FOUND;
  PERFORM gold_of(77);
  performed := FOUND;
  UPDATE player SET gold = gold WHERE id IN (1, 2);
  x := gold_of(p);
  SELECT gold_of(p) INTO inside;
  RETURN concat(before::text, after::text, performed::text, x, inside);
END $$;

-- a procedure with INOUT
CREATE PROCEDURE add_up(a bigint, INOUT total bigint, INOUT calls integer DEFAULT 0) LANGUAGE plpgsql AS $$
BEGIN
  total := total + a;
  calls := calls + 1;
  IF total > 100 THEN total := 100; RETURN; END IF;
  INSERT INTO said VALUES (total, 'added ' || a);
END $$;

CREATE FUNCTION sum_of(xs bigint[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t bigint := 0; n integer := 0; x bigint;
BEGIN
  FOREACH x IN ARRAY xs LOOP
    CALL add_up(x, t, n);
  END LOOP;
  CALL add_up(calls => n, a => 1, total => t);
  RETURN t || '/' || n;
END $$;

-- locals begin without a value at every turn
CREATE FUNCTION remembers(x bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE seen bigint;
BEGIN
  IF x > 1 AND seen IS NOT NULL THEN RETURN -seen; END IF;
  seen := x;
  RETURN seen;
END $$;
CREATE FUNCTION remember_all(most bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t text := '';
BEGIN
  FOR i IN 1..most LOOP t := t || remembers(i) || ' '; END LOOP;
  RETURN t;
END $$;

-- arrays, several columns, SELECT * FROM
CREATE FUNCTION two(xs bigint[], OUT least_one bigint, OUT count_of bigint) LANGUAGE plpgsql AS $$
DECLARE x bigint;
BEGIN
  count_of := 0;
  FOREACH x IN ARRAY xs LOOP
    count_of := count_of + 1;
    IF least_one IS NULL OR x < least_one THEN least_one := x; END IF;
    IF x = 0 THEN RETURN; END IF;
  END LOOP;
END $$;
CREATE FUNCTION uses_two(xs bigint[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a bigint; b bigint; r record;
BEGIN
  SELECT * INTO a, b FROM two(xs);
  SELECT * INTO r FROM two(xs);
  RETURN concat(a, ' of ', b, ' ', r.least_one);
END $$;

-- handlers in what is called, and around it
CREATE FUNCTION safe_divide(a bigint, b bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO said VALUES (a * 1000 + b, 'divided');
  RETURN a / b;
EXCEPTION WHEN division_by_zero THEN
  RETURN NULL;
END $$;
CREATE FUNCTION divides(n bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t text := '';
BEGIN
  FOR i IN 0..n LOOP
    t := concat(t, safe_divide(12, i), ' ');
  END LOOP;
  RETURN t;
END $$;
CREATE FUNCTION takes_gold(p bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  UPDATE player SET gold = gold - most WHERE id = p;
  RETURN most;
END $$;
CREATE FUNCTION pays(p bigint, q bigint, amount bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE taken bigint;
BEGIN
  BEGIN
    taken := takes_gold(p, amount);
    UPDATE player SET gold = gold + taken WHERE id = q;
  EXCEPTION WHEN check_violation THEN
    RETURN 'too poor';
  END;
  RETURN 'paid ' || taken;
END $$;
