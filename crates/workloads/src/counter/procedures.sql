-- The shortest transaction that changes something; returns what it made of the counter.
CREATE FUNCTION counter_increment(p_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_value bigint;
BEGIN
    UPDATE counter SET c_value = c_value + 1 WHERE c_id = p_id RETURNING c_value INTO v_value;
    RETURN v_value;
END;
$$;
