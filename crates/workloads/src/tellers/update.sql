-- locking.txt 6.3, figure 6: updates of several tellers, in the order of the array.
CREATE PROCEDURE tellers_update(p_tellers integer[])
LANGUAGE plpgsql AS $$
DECLARE
    v_teller integer;
BEGIN
    FOREACH v_teller IN ARRAY p_tellers LOOP
        UPDATE teller SET t_balance = t_balance + 1 WHERE t_id = v_teller;
    END LOOP;
END;
$$;
