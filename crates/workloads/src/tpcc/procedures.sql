-- TPC-C, standard specification 5.11, clauses 2.4 to 2.8: the five transactions.
--
-- Each returns what its clause has the terminal show. Names: p_ parameters, v_ variables, the rest
-- are result columns. Keys have the key columns' types, so that every access is by key.
--
-- All of them reach for customer, district, stock and warehouse in this order: the row that most
-- transactions want comes last and is held shortest, and engines that lock as they go meet few
-- deadlocks. The clauses' own order is not binding, since nothing can be seen half done.

-- Clause 2.4, New-Order. One row per line, then one for the order (line_number NULL).
--
-- The clause reads items line by line and rolls the whole order back at the first one that does not
-- exist. Nothing of a rolled-back order remains, so looking for all items first gives the same
-- results, and from then on the transaction can no longer abort: it reaches for the district, which
-- every order of the district wants, only when it is sure to go through.
CREATE FUNCTION new_order(
    p_w_id integer, p_d_id smallint, p_c_id integer,
    p_items integer[], p_supply integer[], p_quantities integer[])
RETURNS TABLE (
    order_id integer, line_number smallint, supply_warehouse integer, item_id integer,
    item_name varchar(24), quantity integer, stock_quantity integer, brand_generic char(1),
    price numeric(5, 2), amount numeric(6, 2),
    customer_last varchar(16), customer_credit char(2), discount numeric(4, 4),
    warehouse_tax numeric(4, 4), district_tax numeric(4, 4), entered timestamptz,
    total numeric(12, 2))
LANGUAGE plpgsql AS $$
DECLARE
    v_item integer;
    v_lines integer := cardinality(p_items);
    v_all_local smallint := 1;
    v_discount numeric(4, 4);
    v_last varchar(16);
    v_credit char(2);
    v_w_tax numeric(4, 4);
    v_d_tax numeric(4, 4);
    v_sum numeric(12, 2) := 0;
    v_i_data varchar(50);
    v_s_data varchar(50);
    v_dist char(24);
BEGIN
    FOREACH v_item IN ARRAY p_items LOOP
        PERFORM i_id FROM item WHERE i_id = v_item;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Item number is not valid';
        END IF;
    END LOOP;
    FOR i IN 1..v_lines LOOP
        IF p_supply[i] <> p_w_id THEN
            v_all_local := 0;
        END IF;
    END LOOP;

    SELECT c_discount, c_last, c_credit INTO v_discount, v_last, v_credit
        FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
        WHERE d_w_id = p_w_id AND d_id = p_d_id
        RETURNING d_next_o_id - 1, d_tax INTO order_id, v_d_tax;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (p_w_id, p_d_id, order_id, p_c_id, now(), NULL, v_lines, v_all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (p_w_id, p_d_id, order_id);

    FOR i IN 1..v_lines LOOP
        line_number := i;
        supply_warehouse := p_supply[i];
        item_id := p_items[i];
        quantity := p_quantities[i];
        SELECT i_price, i_name, i_data INTO price, item_name, v_i_data
            FROM item WHERE i_id = item_id;
        UPDATE stock
            SET s_quantity = CASE WHEN s_quantity >= quantity + 10
                                  THEN s_quantity - quantity
                                  ELSE s_quantity - quantity + 91 END,
                s_ytd = s_ytd + quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt
                    + CASE WHEN supply_warehouse = p_w_id THEN 0 ELSE 1 END
            WHERE s_w_id = supply_warehouse AND s_i_id = item_id
            RETURNING s_quantity, s_data,
                CASE p_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                            WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                            WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                            ELSE s_dist_10 END
            INTO stock_quantity, v_s_data, v_dist;
        amount := quantity * price;
        v_sum := v_sum + amount;
        brand_generic := CASE WHEN position('ORIGINAL' IN v_i_data) > 0
                               AND position('ORIGINAL' IN v_s_data) > 0
                              THEN 'B' ELSE 'G' END;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                                ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            VALUES (p_w_id, p_d_id, order_id, line_number, item_id, supply_warehouse,
                    NULL, quantity, amount, v_dist);
        RETURN NEXT;
    END LOOP;

    SELECT w_tax INTO v_w_tax FROM warehouse WHERE w_id = p_w_id;
    line_number := NULL;
    supply_warehouse := NULL;
    item_id := NULL;
    item_name := NULL;
    quantity := NULL;
    stock_quantity := NULL;
    brand_generic := NULL;
    price := NULL;
    amount := NULL;
    customer_last := v_last;
    customer_credit := v_credit;
    discount := v_discount;
    warehouse_tax := v_w_tax;
    district_tax := v_d_tax;
    entered := now();
    total := round(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2);
    RETURN NEXT;
END;
$$;

-- Clause 2.5, Payment. The customer is given by number, or by last name where that is not NULL:
-- then it is the one in the middle, rounded up, of those with the name, ordered by first name.
CREATE FUNCTION payment(
    p_w_id integer, p_d_id smallint, p_c_w_id integer, p_c_d_id smallint, p_c_id integer,
    p_c_last varchar(16), p_amount numeric(6, 2))
RETURNS TABLE (
    warehouse_street_1 varchar(20), warehouse_street_2 varchar(20), warehouse_city varchar(20),
    warehouse_state char(2), warehouse_zip char(9),
    district_street_1 varchar(20), district_street_2 varchar(20), district_city varchar(20),
    district_state char(2), district_zip char(9),
    customer_id integer, customer_first varchar(16), customer_middle char(2),
    customer_last varchar(16), customer_street_1 varchar(20), customer_street_2 varchar(20),
    customer_city varchar(20), customer_state char(2), customer_zip char(9),
    customer_phone char(16), customer_since timestamptz, customer_credit char(2),
    credit_limit numeric(12, 2), discount numeric(4, 4), balance numeric(16, 2),
    customer_data varchar(200), paid timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    v_namesakes bigint;
    v_w_name varchar(10);
    v_d_name varchar(10);
BEGIN
    customer_id := p_c_id;
    IF p_c_last IS NOT NULL THEN
        SELECT count(*) INTO v_namesakes FROM customer
            WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
        SELECT c_id INTO customer_id FROM customer
            WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last
            ORDER BY c_first LIMIT 1 OFFSET (v_namesakes - 1) / 2;
    END IF;

    UPDATE customer
        SET c_balance = c_balance - p_amount,
            c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = customer_id
        RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
                  c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance
        INTO customer_first, customer_middle, customer_last, customer_street_1, customer_street_2,
             customer_city, customer_state, customer_zip, customer_phone, customer_since,
             customer_credit, credit_limit, discount, balance;
    IF customer_credit = 'BC' THEN
        UPDATE customer
            SET c_data = left(
                customer_id::text || ' ' || p_c_d_id::text || ' ' || p_c_w_id::text || ' '
                || p_d_id::text || ' ' || p_w_id::text || ' ' || p_amount::text || ' | '
                || c_data, 500)
            WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = customer_id
            RETURNING left(c_data, 200) INTO customer_data;
    END IF;
    UPDATE district SET d_ytd = d_ytd + p_amount
        WHERE d_w_id = p_w_id AND d_id = p_d_id
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
        INTO v_d_name, district_street_1, district_street_2, district_city, district_state,
             district_zip;
    UPDATE warehouse SET w_ytd = w_ytd + p_amount
        WHERE w_id = p_w_id
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
        INTO v_w_name, warehouse_street_1, warehouse_street_2, warehouse_city, warehouse_state,
             warehouse_zip;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (customer_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, now(), p_amount,
                v_w_name || '    ' || v_d_name);
    paid := now();
    RETURN NEXT;
END;
$$;

-- Clause 2.6, Order-Status. One row per line of the customer's newest order.
CREATE FUNCTION order_status(
    p_w_id integer, p_d_id smallint, p_c_id integer, p_c_last varchar(16))
RETURNS TABLE (
    customer_id integer, customer_first varchar(16), customer_middle char(2),
    customer_last varchar(16), balance numeric(16, 2),
    order_id integer, entered timestamptz, carrier_id smallint,
    supply_warehouse integer, item_id integer, quantity integer, amount numeric(6, 2),
    delivered timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    v_namesakes bigint;
    v_c_id integer := p_c_id;
    v_first varchar(16);
    v_middle char(2);
    v_last varchar(16);
    v_balance numeric(16, 2);
    v_o_id integer;
    v_entered timestamptz;
    v_carrier smallint;
BEGIN
    IF p_c_last IS NOT NULL THEN
        SELECT count(*) INTO v_namesakes FROM customer
            WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last;
        SELECT c_id INTO v_c_id FROM customer
            WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last
            ORDER BY c_first LIMIT 1 OFFSET (v_namesakes - 1) / 2;
    END IF;
    SELECT c_first, c_middle, c_last, c_balance INTO v_first, v_middle, v_last, v_balance
        FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = v_c_id;
    SELECT o_id, o_entry_d, o_carrier_id INTO v_o_id, v_entered, v_carrier
        FROM orders WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND o_c_id = v_c_id
        ORDER BY o_id DESC LIMIT 1;
    RETURN QUERY
        SELECT v_c_id, v_first, v_middle, v_last, v_balance, v_o_id, v_entered, v_carrier,
               ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d
        FROM order_line WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = v_o_id;
END;
$$;

-- Clause 2.7, Delivery: the oldest undelivered order of each district, all ten in one transaction.
-- One row per district that had one; the others are skipped, as clause 2.7.4 has it.
CREATE FUNCTION delivery(p_w_id integer, p_carrier_id smallint)
RETURNS TABLE (district_id smallint, order_id integer)
LANGUAGE plpgsql AS $$
DECLARE
    v_c_id integer;
    v_total numeric(16, 2);
BEGIN
    FOR d IN 1..10 LOOP
        district_id := d;
        SELECT no_o_id INTO order_id FROM new_order
            WHERE no_w_id = p_w_id AND no_d_id = district_id
            ORDER BY no_o_id LIMIT 1;
        IF FOUND THEN
            DELETE FROM new_order
                WHERE no_w_id = p_w_id AND no_d_id = district_id AND no_o_id = order_id;
            UPDATE orders SET o_carrier_id = p_carrier_id
                WHERE o_w_id = p_w_id AND o_d_id = district_id AND o_id = order_id
                RETURNING o_c_id INTO v_c_id;
            -- Changed before they are summed: no lock is ever taken twice with a stronger mode.
            UPDATE order_line SET ol_delivery_d = now()
                WHERE ol_w_id = p_w_id AND ol_d_id = district_id AND ol_o_id = order_id;
            SELECT sum(ol_amount) INTO v_total FROM order_line
                WHERE ol_w_id = p_w_id AND ol_d_id = district_id AND ol_o_id = order_id;
            UPDATE customer
                SET c_balance = c_balance + v_total, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = p_w_id AND c_d_id = district_id AND c_id = v_c_id;
            RETURN NEXT;
        END IF;
    END LOOP;
END;
$$;

-- Clause 2.8, Stock-Level: how many of the items in the district's last 20 orders are short.
CREATE FUNCTION stock_level(p_w_id integer, p_d_id smallint, p_threshold integer)
RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_next integer;
    v_low integer := 0;
    v_line record;
BEGIN
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;
    FOR v_line IN
        SELECT DISTINCT ol_i_id FROM order_line
            WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id
              AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
    LOOP
        PERFORM s_i_id FROM stock
            WHERE s_w_id = p_w_id AND s_i_id = v_line.ol_i_id AND s_quantity < p_threshold;
        IF FOUND THEN
            v_low := v_low + 1;
        END IF;
    END LOOP;
    RETURN v_low;
END;
$$;
