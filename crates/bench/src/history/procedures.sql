-- What recorded histories run: each call is one transaction of several operations, some of them
-- reads (p_values[i] is null or empty) and some writes.

CREATE TABLE lists (id bigint PRIMARY KEY, list text NOT NULL);
CREATE TABLE registers (id bigint PRIMARY KEY, value bigint);
CREATE TABLE entries (id bigint, value bigint, PRIMARY KEY (id, value))
    WITH (primary_index = btree);

-- Appends to lists and reads them whole.
CREATE FUNCTION run_lists(p_keys bigint[], p_values text[]) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    v_list text;
BEGIN
    FOR i IN 1..cardinality(p_keys) LOOP
        IF p_values[i] = '' THEN
            SELECT list INTO v_list FROM lists WHERE id = p_keys[i];
            RETURN NEXT v_list;
        ELSE
            UPDATE lists SET list = list || ',' || p_values[i] WHERE id = p_keys[i];
        END IF;
    END LOOP;
END $$;

-- Overwrites registers and reads them.
CREATE FUNCTION run_registers(p_keys bigint[], p_values bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_value bigint;
BEGIN
    FOR i IN 1..cardinality(p_keys) LOOP
        IF p_values[i] IS NULL THEN
            SELECT value INTO v_value FROM registers WHERE id = p_keys[i];
            RETURN NEXT v_value;
        ELSE
            UPDATE registers SET value = p_values[i] WHERE id = p_keys[i];
        END IF;
    END LOOP;
END $$;

-- Inserts entries of indexes and scans them: what is missed here is a phantom. A scan returns its
-- entries, then null.
CREATE FUNCTION run_indexes(p_keys bigint[], p_values bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_entry record;
BEGIN
    FOR i IN 1..cardinality(p_keys) LOOP
        IF p_values[i] IS NULL THEN
            FOR v_entry IN SELECT value FROM entries WHERE id = p_keys[i] ORDER BY value LOOP
                RETURN NEXT v_entry.value;
            END LOOP;
            RETURN NEXT NULL;
        ELSE
            INSERT INTO entries VALUES (p_keys[i], p_values[i]);
        END IF;
    END LOOP;
END $$;
