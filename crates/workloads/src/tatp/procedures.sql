-- TATP's seven transactions. A read that finds nothing returns nothing, and has failed in the
-- specification's terms; a write that finds nothing aborts.

CREATE FUNCTION tatp_get_subscriber_data(p_s_id integer)
RETURNS TABLE (
    o_sub_nbr varchar(15), o_bit_1 smallint, o_bit_2 smallint, o_bit_3 smallint, o_bit_4 smallint,
    o_bit_5 smallint, o_bit_6 smallint, o_bit_7 smallint, o_bit_8 smallint, o_bit_9 smallint,
    o_bit_10 smallint, o_hex_1 smallint, o_hex_2 smallint, o_hex_3 smallint, o_hex_4 smallint,
    o_hex_5 smallint, o_hex_6 smallint, o_hex_7 smallint, o_hex_8 smallint, o_hex_9 smallint,
    o_hex_10 smallint, o_byte2_1 smallint, o_byte2_2 smallint, o_byte2_3 smallint, o_byte2_4
    smallint, o_byte2_5 smallint, o_byte2_6 smallint, o_byte2_7 smallint, o_byte2_8 smallint,
    o_byte2_9 smallint, o_byte2_10 smallint, o_msc_location integer, o_vlr_location integer)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT
        sub_nbr, bit_1, bit_2, bit_3, bit_4, bit_5, bit_6, bit_7, bit_8, bit_9, bit_10, hex_1,
        hex_2, hex_3, hex_4, hex_5, hex_6, hex_7, hex_8, hex_9, hex_10, byte2_1, byte2_2,
        byte2_3, byte2_4, byte2_5, byte2_6, byte2_7, byte2_8, byte2_9, byte2_10, msc_location,
        vlr_location
        FROM subscriber WHERE s_id = p_s_id;
END;
$$;

-- Where a call goes that comes at a time of the day.
CREATE FUNCTION tatp_get_new_destination(
    p_s_id integer, p_sf_type smallint, p_start_time smallint, p_end_time smallint)
RETURNS TABLE (o_numberx varchar(15))
LANGUAGE plpgsql AS $$
DECLARE
    v_active smallint;
BEGIN
    SELECT is_active INTO v_active FROM special_facility
        WHERE s_id = p_s_id AND sf_type = p_sf_type;
    IF v_active = 1 THEN
        RETURN QUERY SELECT numberx FROM call_forwarding
            WHERE s_id = p_s_id AND sf_type = p_sf_type
                AND start_time <= p_start_time AND end_time > p_end_time;
    END IF;
END;
$$;

CREATE FUNCTION tatp_get_access_data(p_s_id integer, p_ai_type smallint)
RETURNS TABLE (o_data1 smallint, o_data2 smallint, o_data3 char(3), o_data4 char(5))
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT data1, data2, data3, data4 FROM access_info
        WHERE s_id = p_s_id AND ai_type = p_ai_type;
END;
$$;

CREATE PROCEDURE tatp_update_subscriber_data(
    p_s_id integer, p_bit smallint, p_sf_type smallint, p_data_a smallint)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE subscriber SET bit_1 = p_bit WHERE s_id = p_s_id;
    UPDATE special_facility SET data_a = p_data_a WHERE s_id = p_s_id AND sf_type = p_sf_type;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no special facility of this type';
    END IF;
END;
$$;

CREATE PROCEDURE tatp_update_location(p_sub_nbr varchar(15), p_location integer)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE subscriber SET vlr_location = p_location WHERE sub_nbr = p_sub_nbr;
END;
$$;

-- Fails where the facility is not there, and where it is forwarded at that time already.
CREATE PROCEDURE tatp_insert_call_forwarding(
    p_sub_nbr varchar(15), p_sf_type smallint, p_start_time smallint, p_end_time smallint,
    p_numberx varchar(15))
LANGUAGE plpgsql AS $$
DECLARE
    v_s_id integer;
BEGIN
    SELECT s_id INTO v_s_id FROM subscriber WHERE sub_nbr = p_sub_nbr;
    PERFORM 1 FROM special_facility WHERE s_id = v_s_id AND sf_type = p_sf_type;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no special facility of this type';
    END IF;
    INSERT INTO call_forwarding (s_id, sf_type, start_time, end_time, numberx)
        VALUES (v_s_id, p_sf_type, p_start_time, p_end_time, p_numberx)
        ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'calls are forwarded at this time already';
    END IF;
END;
$$;

CREATE PROCEDURE tatp_delete_call_forwarding(
    p_sub_nbr varchar(15), p_sf_type smallint, p_start_time smallint)
LANGUAGE plpgsql AS $$
DECLARE
    v_s_id integer;
BEGIN
    SELECT s_id INTO v_s_id FROM subscriber WHERE sub_nbr = p_sub_nbr;
    DELETE FROM call_forwarding
        WHERE s_id = v_s_id AND sf_type = p_sf_type AND start_time = p_start_time;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing is forwarded at this time';
    END IF;
END;
$$;

-- Not of the specification: changes subscribers whom it finds by their numbers (dora.txt 5.5).
CREATE PROCEDURE tatp_probe_subscribers(p_sub_nbrs varchar(15)[], p_bit smallint)
LANGUAGE plpgsql AS $$
DECLARE
    v_sub_nbr varchar(15);
BEGIN
    FOREACH v_sub_nbr IN ARRAY p_sub_nbrs LOOP
        UPDATE subscriber SET bit_1 = p_bit WHERE sub_nbr = v_sub_nbr;
    END LOOP;
END;
$$;
