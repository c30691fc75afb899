-- The transactions of procedures.sql where some abort (partitioned.txt 5.3). Each partition's work
-- may begin with a key that must be there, or with none (NULL). A call that is to abort names one
-- that is not, as a New-Order of TPC-C that is to roll back names an unused item: it is the
-- partition that finds out. All calls of a run are of these procedures, so that nobody knows
-- beforehand which of them end so.

-- All keys in one partition.
CREATE FUNCTION kv_single_or_abort(p_partition bigint, p_must bytea, p_keys bytea[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_key bytea;
    v_value integer;
    v_sum bigint := 0;
BEGIN
    IF p_must IS NOT NULL THEN
        PERFORM kv_value FROM kv WHERE kv_partition = p_partition AND kv_key = p_must;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'There is no such key';
        END IF;
    END IF;
    FOREACH v_key IN ARRAY p_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1
            WHERE kv_partition = p_partition AND kv_key = v_key
            RETURNING kv_value INTO v_value;
        v_sum := v_sum + v_value;
    END LOOP;
    RETURN v_sum;
END;
$$;

-- Keys in two partitions, in one round.
CREATE FUNCTION kv_multi_or_abort(
    p_first bigint, p_first_must bytea, p_first_keys bytea[],
    p_second bigint, p_second_must bytea, p_second_keys bytea[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_key bytea;
    v_value integer;
    v_first bigint := 0;
    v_second bigint := 0;
BEGIN
    IF p_first_must IS NOT NULL THEN
        PERFORM kv_value FROM kv WHERE kv_partition = p_first AND kv_key = p_first_must;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'There is no such key';
        END IF;
    END IF;
    FOREACH v_key IN ARRAY p_first_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1
            WHERE kv_partition = p_first AND kv_key = v_key
            RETURNING kv_value INTO v_value;
        v_first := v_first + v_value;
    END LOOP;
    IF p_second_must IS NOT NULL THEN
        PERFORM kv_value FROM kv WHERE kv_partition = p_second AND kv_key = p_second_must;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'There is no such key';
        END IF;
    END IF;
    FOREACH v_key IN ARRAY p_second_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1
            WHERE kv_partition = p_second AND kv_key = v_key
            RETURNING kv_value INTO v_value;
        v_second := v_second + v_value;
    END LOOP;
    RETURN v_first + v_second;
END;
$$;

-- Keys in two partitions, in two rounds.
CREATE FUNCTION kv_two_rounds_or_abort(
    p_first bigint, p_first_must bytea, p_first_keys bytea[],
    p_second bigint, p_second_must bytea, p_second_keys bytea[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_key bytea;
    v_value integer;
    v_first bigint := 0;
    v_second bigint := 0;
    v_shift integer;
BEGIN
    IF p_first_must IS NOT NULL THEN
        PERFORM kv_value FROM kv WHERE kv_partition = p_first AND kv_key = p_first_must;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'There is no such key';
        END IF;
    END IF;
    FOREACH v_key IN ARRAY p_first_keys LOOP
        SELECT kv_value INTO v_value FROM kv WHERE kv_partition = p_first AND kv_key = v_key;
        v_first := v_first + v_value;
    END LOOP;
    IF p_second_must IS NOT NULL THEN
        PERFORM kv_value FROM kv WHERE kv_partition = p_second AND kv_key = p_second_must;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'There is no such key';
        END IF;
    END IF;
    FOREACH v_key IN ARRAY p_second_keys LOOP
        SELECT kv_value INTO v_value FROM kv WHERE kv_partition = p_second AND kv_key = v_key;
        v_second := v_second + v_value;
    END LOOP;
    v_shift := (v_first + v_second) % 2;
    FOREACH v_key IN ARRAY p_first_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1 - v_shift
            WHERE kv_partition = p_first AND kv_key = v_key;
    END LOOP;
    FOREACH v_key IN ARRAY p_second_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1 + v_shift
            WHERE kv_partition = p_second AND kv_key = v_key;
    END LOOP;
    RETURN v_first + v_second;
END;
$$;
