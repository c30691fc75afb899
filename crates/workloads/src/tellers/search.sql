-- locking.txt 6.3, figure 3: searches of ranges, then one update of an existing teller. A range
-- begins at p_from[i] and ends at p_to[i], both included; ends that are no keys lie between keys.
CREATE FUNCTION tellers_search(p_from integer[], p_to integer[], p_teller integer)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_part bigint;
    v_sum bigint := 0;
BEGIN
    FOR i IN 1..cardinality(p_from) LOOP
        SELECT sum(t_balance) INTO v_part FROM teller
            WHERE t_id >= p_from[i] AND t_id <= p_to[i];
        v_sum := v_sum + coalesce(v_part, 0);
    END LOOP;
    UPDATE teller SET t_balance = t_balance + 1 WHERE t_id = p_teller;
    RETURN v_sum;
END;
$$;
