CREATE TABLE account (id bigint PRIMARY KEY, kind text NOT NULL, balance bigint NOT NULL,
    CONSTRAINT no_overdraft CHECK (balance >= 0));
CREATE TABLE entry (number bigint PRIMARY KEY, account bigint NOT NULL REFERENCES account (id),
    amount bigint NOT NULL, mark text UNIQUE);
CREATE INDEX entry_account ON entry (account);
CREATE TABLE counter (name text PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE trouble (number bigint PRIMARY KEY, state text, said text);
INSERT INTO account VALUES (1, 'user', 100), (2, 'user', 50), (3, 'fee', 0), (7, 'user', 7);
INSERT INTO entry VALUES (1, 1, 100, 'a'), (2, 2, 50, 'b');

-- the loop of PostgreSQL's manual
CREATE FUNCTION upsert(key text, more bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    UPDATE counter SET n = n + more WHERE name = key;
    IF found THEN RETURN 'updated'; END IF;
    BEGIN
      INSERT INTO counter (name, n) VALUES (key, more);
      RETURN 'inserted';
    EXCEPTION WHEN unique_violation THEN
      NULL;
    END;
  END LOOP;
END $$;

-- inserts first, so that a handler runs whenever there is a row
CREATE FUNCTION insert_or_add(key text, more bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE how text := 'inserted';
BEGIN
  BEGIN
    INSERT INTO counter (name, n) VALUES (key, more);
  EXCEPTION WHEN unique_violation THEN
    how := 'added';
    UPDATE counter SET n = n + more WHERE name = key;
  END;
  RETURN how;
END $$;

-- what the block has changed is undone, variables are not
CREATE FUNCTION transfer(p_from bigint, p_to bigint, p_amount bigint, p_entry bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE steps integer := 0;
BEGIN
  UPDATE counter SET n = n + 1 WHERE name = 'tries';
  BEGIN
    steps := 1;
    UPDATE account SET balance = balance + p_amount WHERE id = p_to;
    steps := 2;
    INSERT INTO entry VALUES (p_entry, p_from, p_amount, NULL);
    steps := 3;
    UPDATE account SET balance = balance - p_amount WHERE id = p_from;
    steps := 4;
    RETURN 'done ' || steps;
  EXCEPTION
    WHEN check_violation THEN
      UPDATE account SET balance = balance + 1 WHERE id = 3;
      RETURN 'too little ' || steps || ' ' || SQLSTATE;
    WHEN unique_violation OR foreign_key_violation THEN
      RETURN SQLERRM || ' ' || steps;
  END;
END $$;

CREATE FUNCTION divide(a bigint, b bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r bigint := -1;
BEGIN
  r := a / b;
  RETURN r;
EXCEPTION
  WHEN numeric_value_out_of_range THEN RETURN -2;
  WHEN division_by_zero THEN RETURN r;
END $$;

CREATE FUNCTION told(which integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text; m text; d text; h text; c text; t text; col text; n integer;
BEGIN
  CASE which
    WHEN 1 THEN RAISE EXCEPTION 'no % here', 'luck' USING DETAIL = 'none', HINT = 'try', ERRCODE = 'UE001';
    WHEN 2 THEN INSERT INTO entry VALUES (1, 1, 1, 'zz');
    WHEN 3 THEN INSERT INTO entry VALUES (99, 1, NULL, 'zz');
    WHEN 4 THEN INSERT INTO account VALUES (99, 'x', -1);
    WHEN 5 THEN SELECT id INTO STRICT n FROM account WHERE id = 77;
    WHEN 6 THEN SELECT id INTO STRICT n FROM account WHERE kind = 'user';
    WHEN 7 THEN s := 'seven'; n := s;
    WHEN 8 THEN RAISE division_by_zero;
    WHEN 9 THEN DELETE FROM account WHERE id = 1;
    WHEN 10 THEN RAISE SQLSTATE '23999';
  END CASE;
  RETURN 'nothing';
EXCEPTION
  WHEN SQLSTATE 'UE001' THEN
    GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL,
      h := PG_EXCEPTION_HINT;
    RETURN concat(s, '|', m, '|', d, '|', h);
  WHEN integrity_constraint_violation THEN
    GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, t = TABLE_NAME, col = COLUMN_NAME;
    RETURN concat(SQLSTATE, '|', c, '|', t, '|', col);
  WHEN no_data_found OR too_many_rows THEN RETURN SQLSTATE;
  WHEN others THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- nested, raised again, and by whom it is caught
CREATE FUNCTION nested(which integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE path text := '';
BEGIN
  <<outermost>>
  BEGIN
    UPDATE counter SET n = n + 1 WHERE name = 'outer';
    BEGIN
      UPDATE counter SET n = n + 10 WHERE name = 'inner';
      IF which = 1 THEN RAISE unique_violation; END IF;
      IF which = 2 THEN RAISE check_violation; END IF;
      IF which = 3 THEN EXIT outermost; END IF;
      IF which = 4 THEN RAISE EXCEPTION 'four'; END IF;
      IF which = 6 THEN RAISE assert_failure; END IF;
      path := path || 'inner end,';
    EXCEPTION
      WHEN unique_violation THEN path := path || 'inner caught,';
      WHEN raise_exception THEN
        path := path || 'again ' || SQLERRM || ',';
        BEGIN
          RAISE no_data_found;
        EXCEPTION WHEN OTHERS THEN path := path || SQLSTATE || ',';
        END;
        RAISE;
    END;
    path := path || 'outer end,';
    IF which = 5 THEN path := path || 1 / (which - 5); END IF;
  EXCEPTION
    WHEN check_violation OR raise_exception THEN path := path || 'outer caught ' || SQLSTATE || SQLERRM;
    WHEN others THEN
      path := path || 'others ' || SQLERRM;
      IF which = 5 THEN EXIT outermost; END IF;
  END outermost;
  RETURN path;
END $$;

-- in loops, with EXIT, CONTINUE and RETURN out of blocks and handlers
CREATE FUNCTION in_loops(ids bigint[], most bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE id_now bigint; said text := ''; turns bigint := 0;
BEGIN
  FOREACH id_now IN ARRAY ids LOOP
    turns := turns + 1;
    BEGIN
      UPDATE account SET balance = balance - 10 WHERE id = id_now;
      CONTINUE WHEN NOT FOUND;
      INSERT INTO trouble VALUES (id_now, NULL, 'fine');
      EXIT WHEN turns > most;
      said := said || id_now || ' ';
    EXCEPTION
      WHEN check_violation THEN
        said := said || 'poor ';
        CONTINUE;
      WHEN unique_violation THEN
        IF turns > most THEN RETURN said || 'returned'; END IF;
        said := said || 'twice ';
    END;
    said := said || 'next ';
  END LOOP;
  RETURN said || turns;
END $$;

-- a handler decides a key
CREATE FUNCTION find_or_take(which text, fallback bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE at bigint;
BEGIN
  BEGIN
    SELECT id INTO STRICT at FROM account WHERE kind = which AND id > 0;
  EXCEPTION
    WHEN no_data_found THEN at := fallback;
    WHEN too_many_rows THEN at := fallback + 1;
  END;
  UPDATE account SET balance = balance + 1 WHERE id = at;
  RETURN at;
END $$;

-- errors of handlers are not caught where they are
CREATE FUNCTION fails_again(which integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  UPDATE counter SET n = n + 1 WHERE name = 'tries';
  RAISE EXCEPTION 'first';
EXCEPTION WHEN raise_exception THEN
  IF which = 1 THEN RAISE EXCEPTION 'second' USING ERRCODE = 'check_violation', HINT = 'deposit'; END IF;
  RAISE;
END $$;

-- many rows, indexes and deleted rows are put back
CREATE FUNCTION shuffle(fail boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  BEGIN
    DELETE FROM entry WHERE number = 1;
    INSERT INTO entry VALUES (1, 2, 5, 'c');
    UPDATE entry SET mark = 'd' WHERE number = 2;
    INSERT INTO entry VALUES (10, 1, 5, 'b');
    DELETE FROM entry WHERE number = 10;
    UPDATE account SET kind = kind || '!', balance = balance * 2 WHERE id > 0;
    IF fail THEN UPDATE account SET balance = balance - 120 WHERE id > 0; END IF;
  EXCEPTION WHEN others THEN
    FOR r IN SELECT number, account, mark FROM entry ORDER BY number LOOP
      INSERT INTO trouble VALUES (1000 + r.number, r.mark, r.account);
    END LOOP;
    RETURN 'back';
  END;
  RETURN 'gone';
END $$;

-- all of it is protected, keys are parameters
CREATE FUNCTION enter(p_number bigint, p_from bigint, p_amount bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_number bigint; v_kind text;
BEGIN
  INSERT INTO entry VALUES (p_number, p_from, p_amount, NULL)
  ON CONFLICT (number) DO NOTHING RETURNING number INTO v_number;
  IF v_number IS NULL THEN RETURN 'again'; END IF;
  SELECT kind INTO v_kind FROM account WHERE id = p_from;
  UPDATE counter SET n = n + 1 WHERE name = v_kind;
  UPDATE account SET balance = balance - p_amount WHERE id = p_from;
  RETURN 'entered';
EXCEPTION WHEN check_violation THEN
  RAISE EXCEPTION 'insufficient funds in account %', p_from
    USING ERRCODE = 'check_violation', HINT = 'deposit some money';
END $$;

CREATE FUNCTION rows_stay() RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    RETURN NEXT 1;
    RETURN NEXT 2;
    RAISE EXCEPTION 'x';
  EXCEPTION WHEN others THEN RETURN NEXT 3;
  END;
  RETURN NEXT 4;
END $$;
INSERT INTO counter VALUES ('tries', 0), ('outer', 0), ('inner', 0);
