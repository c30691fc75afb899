-- YCSB as orthrus.txt (section 4 and appendix A) and lads.txt (section 5.1) run it: a transaction
-- reads or increments several records, in the order of its arrays. All keys are parameters.

-- Only increments.
CREATE PROCEDURE ycsb_update(p_keys bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    v_key bigint;
BEGIN
    FOREACH v_key IN ARRAY p_keys LOOP
        UPDATE usertable SET counter = counter + 1 WHERE y_id = v_key;
    END LOOP;
END;
$$;

-- Only reads; returns something of each record, so that reading it is no idle work.
CREATE FUNCTION ycsb_read(p_keys bigint[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_key bigint;
    v_counter bigint;
    v_sum bigint := 0;
BEGIN
    FOREACH v_key IN ARRAY p_keys LOOP
        SELECT counter INTO v_counter FROM usertable WHERE y_id = v_key;
        v_sum := v_sum + v_counter;
    END LOOP;
    RETURN v_sum;
END;
$$;

-- Increments where p_writes says so, reads elsewhere.
CREATE FUNCTION ycsb_mixed(p_keys bigint[], p_writes boolean[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_counter bigint;
    v_sum bigint := 0;
BEGIN
    FOR i IN 1..cardinality(p_keys) LOOP
        IF p_writes[i] THEN
            UPDATE usertable SET counter = counter + 1 WHERE y_id = p_keys[i];
        ELSE
            SELECT counter INTO v_counter FROM usertable WHERE y_id = p_keys[i];
            v_sum := v_sum + v_counter;
        END IF;
    END LOOP;
    RETURN v_sum;
END;
$$;

-- Only increments, and aborts where a key is not there. All calls of a run with aborts are of this
-- procedure, so that nobody knows beforehand which of them end so.
CREATE PROCEDURE ycsb_update_or_abort(p_keys bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    v_key bigint;
BEGIN
    FOREACH v_key IN ARRAY p_keys LOOP
        UPDATE usertable SET counter = counter + 1 WHERE y_id = v_key;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'There is no record %', v_key;
        END IF;
    END LOOP;
END;
$$;
