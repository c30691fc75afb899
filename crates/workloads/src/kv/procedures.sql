-- The microbenchmark of partitioned.txt (5.1, 5.2 and 5.4): a transaction reads and writes the
-- values of a few keys. Partitions and keys are parameters. A write adds to the value, so that lost
-- updates can be counted; the sum of what was read is returned, so that reading is no idle work.

-- All keys in one partition.
CREATE FUNCTION kv_single(p_partition bigint, p_keys bytea[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_key bytea;
    v_value integer;
    v_sum bigint := 0;
BEGIN
    FOREACH v_key IN ARRAY p_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1
            WHERE kv_partition = p_partition AND kv_key = v_key
            RETURNING kv_value INTO v_value;
        v_sum := v_sum + v_value;
    END LOOP;
    RETURN v_sum;
END;
$$;

-- Keys in two partitions, neither of which needs anything of the other.
CREATE FUNCTION kv_multi(
    p_first bigint, p_first_keys bytea[], p_second bigint, p_second_keys bytea[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_key bytea;
    v_value integer;
    v_first bigint := 0;
    v_second bigint := 0;
BEGIN
    FOREACH v_key IN ARRAY p_first_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1
            WHERE kv_partition = p_first AND kv_key = v_key
            RETURNING kv_value INTO v_value;
        v_first := v_first + v_value;
    END LOOP;
    FOREACH v_key IN ARRAY p_second_keys LOOP
        UPDATE kv SET kv_value = kv_value + 1
            WHERE kv_partition = p_second AND kv_key = v_key
            RETURNING kv_value INTO v_value;
        v_second := v_second + v_value;
    END LOOP;
    RETURN v_first + v_second;
END;
$$;

-- Keys in two partitions, in two rounds: all are read, and what is then written depends on what was
-- read in both. One partition's keys get as much more as the other's get less, and there are as
-- many of each, so that the sum of all values grows by the number of keys here, too.
CREATE FUNCTION kv_two_rounds(
    p_first bigint, p_first_keys bytea[], p_second bigint, p_second_keys bytea[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_key bytea;
    v_value integer;
    v_first bigint := 0;
    v_second bigint := 0;
    v_shift integer;
BEGIN
    FOREACH v_key IN ARRAY p_first_keys LOOP
        SELECT kv_value INTO v_value FROM kv WHERE kv_partition = p_first AND kv_key = v_key;
        v_first := v_first + v_value;
    END LOOP;
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
