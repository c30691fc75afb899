-- TPC-B's one transaction, and what is left of it when updates become reads of the same records
-- (locking.txt 6.2).

-- The profile as it is specified; returns the account's balance.
CREATE FUNCTION tpcb_update(p_account integer, p_teller integer, p_branch integer, p_delta bigint)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_balance bigint;
BEGIN
    UPDATE account SET a_balance = a_balance + p_delta WHERE a_id = p_account
        RETURNING a_balance INTO v_balance;
    INSERT INTO history (h_t_id, h_b_id, h_a_id, h_delta, h_updates, h_time, h_filler)
        VALUES (p_teller, p_branch, p_account, p_delta, 7, now(), '');
    UPDATE teller SET t_balance = t_balance + p_delta WHERE t_id = p_teller;
    UPDATE branch SET b_balance = b_balance + p_delta WHERE b_id = p_branch;
    RETURN v_balance;
END;
$$;

-- All updates turned into reads; then there is no history to write.
CREATE FUNCTION tpcb_read(p_account integer, p_teller integer, p_branch integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_account bigint;
    v_teller bigint;
    v_branch bigint;
BEGIN
    SELECT a_balance INTO v_account FROM account WHERE a_id = p_account;
    SELECT t_balance INTO v_teller FROM teller WHERE t_id = p_teller;
    SELECT b_balance INTO v_branch FROM branch WHERE b_id = p_branch;
    RETURN v_account + v_teller + v_branch;
END;
$$;

-- Some of them: p_updates says which are left, as h_updates does.
CREATE FUNCTION tpcb_mixed(
    p_account integer, p_teller integer, p_branch integer, p_delta bigint, p_updates smallint)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_account bigint;
    v_teller bigint;
    v_branch bigint;
BEGIN
    IF p_updates % 2 = 1 THEN
        UPDATE account SET a_balance = a_balance + p_delta WHERE a_id = p_account
            RETURNING a_balance INTO v_account;
    ELSE
        SELECT a_balance INTO v_account FROM account WHERE a_id = p_account;
    END IF;
    INSERT INTO history (h_t_id, h_b_id, h_a_id, h_delta, h_updates, h_time, h_filler)
        VALUES (p_teller, p_branch, p_account, p_delta, p_updates, now(), '');
    IF p_updates / 2 % 2 = 1 THEN
        UPDATE teller SET t_balance = t_balance + p_delta WHERE t_id = p_teller
            RETURNING t_balance INTO v_teller;
    ELSE
        SELECT t_balance INTO v_teller FROM teller WHERE t_id = p_teller;
    END IF;
    IF p_updates / 4 = 1 THEN
        UPDATE branch SET b_balance = b_balance + p_delta WHERE b_id = p_branch
            RETURNING b_balance INTO v_branch;
    ELSE
        SELECT b_balance INTO v_branch FROM branch WHERE b_id = p_branch;
    END IF;
    RETURN v_account + v_teller + v_branch;
END;
$$;
