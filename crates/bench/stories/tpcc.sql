CREATE TABLE warehouse (
    w_id integer PRIMARY KEY,
    w_name varchar(10) NOT NULL,
    w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9),
    w_tax numeric(4,4) NOT NULL,
    w_ytd numeric(12,2) NOT NULL
);
CREATE TABLE district (
    d_w_id integer REFERENCES warehouse,
    d_id smallint,
    d_name varchar(10) NOT NULL,
    d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9),
    d_tax numeric(4,4) NOT NULL,
    d_ytd numeric(12,2) NOT NULL,
    d_next_o_id integer NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
);
CREATE TABLE customer (
    c_w_id integer,
    c_d_id smallint,
    c_id integer,
    c_first varchar(16), c_middle char(2), c_last varchar(16) NOT NULL,
    c_since timestamptz NOT NULL DEFAULT now(),
    c_credit char(2) NOT NULL,
    c_credit_lim numeric(12,2) NOT NULL DEFAULT 50000,
    c_discount numeric(4,4) NOT NULL,
    c_balance numeric(12,2) NOT NULL DEFAULT -10,
    c_ytd_payment numeric(12,2) NOT NULL DEFAULT 10,
    c_payment_cnt integer NOT NULL DEFAULT 1,
    c_delivery_cnt integer NOT NULL DEFAULT 0,
    c_data text NOT NULL DEFAULT '',
    PRIMARY KEY (c_w_id, c_d_id, c_id),
    FOREIGN KEY (c_w_id, c_d_id) REFERENCES district
);
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE TABLE history (
    h_c_id integer, h_c_d_id smallint, h_c_w_id integer,
    h_d_id smallint, h_w_id integer,
    h_date timestamptz NOT NULL,
    h_amount numeric(6,2) NOT NULL,
    h_data varchar(24)
);
CREATE TABLE item (
    i_id integer PRIMARY KEY,
    i_im_id integer,
    i_name varchar(24) NOT NULL,
    i_price numeric(5,2) NOT NULL,
    i_data varchar(50)
);
CREATE TABLE stock (
    s_w_id integer REFERENCES warehouse,
    s_i_id integer REFERENCES item,
    s_quantity smallint NOT NULL,
    s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL,
    s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL,
    s_dist_09 char(24) NOT NULL, s_dist_10 char(24) NOT NULL,
    s_ytd integer NOT NULL DEFAULT 0,
    s_order_cnt integer NOT NULL DEFAULT 0,
    s_remote_cnt integer NOT NULL DEFAULT 0,
    s_data varchar(50),
    PRIMARY KEY (s_w_id, s_i_id)
);
CREATE TABLE orders (
    o_w_id integer,
    o_d_id smallint,
    o_id integer,
    o_c_id integer NOT NULL,
    o_entry_d timestamptz NOT NULL,
    o_carrier_id smallint,
    o_ol_cnt smallint NOT NULL,
    o_all_local boolean NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
);
CREATE INDEX orders_of_customer ON orders (o_w_id, o_d_id, o_c_id, o_id DESC);
CREATE TABLE new_order (
    no_w_id integer,
    no_d_id smallint,
    no_o_id integer,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
);
CREATE TABLE order_line (
    ol_w_id integer,
    ol_d_id smallint,
    ol_o_id integer,
    ol_number smallint,
    ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL,
    ol_delivery_d timestamptz,
    ol_quantity smallint NOT NULL,
    ol_amount numeric(7,2) NOT NULL,
    ol_dist_info char(24),
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
    FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders
);

CREATE FUNCTION name_of(number integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT syllable[number / 100 % 10 + 1] || syllable[number / 10 % 10 + 1] || syllable[number % 10 + 1]
    FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'] AS syllable) named
$$;

CREATE FUNCTION draw(low integer, high integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RETURN low + floor(random() * (high - low + 1))::integer;
END $$;

-- Of 1 to `high`, some numbers much more often than others (TPC-C 2.1.6).
CREATE FUNCTION uneven(a integer, high integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RETURN (draw(0, a) | draw(1, high)) % high + 1;
END $$;

CREATE FUNCTION neword(p_w integer, p_warehouses integer, p_d integer, p_c integer) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    v_lines smallint := draw(5, 15);
    v_items integer[] := '{}';
    v_suppliers integer[];
    v_quantities smallint[] := ARRAY[]::smallint[];
    v_prices numeric(5,2)[];
    v_dists text[];
    v_amounts numeric[];
    v_all_local boolean := true;
    v_next integer;
    v_w_tax warehouse.w_tax%TYPE;
    v_d_tax district.d_tax%TYPE;
    v_discount customer.c_discount%TYPE;
    v_last customer.c_last%TYPE;
    v_credit customer.c_credit%TYPE;
    v_item integer;
    v_total numeric;
BEGIN
    FOR line IN 1 .. v_lines LOOP
        LOOP
            v_item := uneven(255, 200);
            EXIT WHEN NOT v_item = ANY (v_items);
        END LOOP;
        v_items := v_items || v_item;
        v_suppliers[line] := p_w;
        IF p_warehouses > 1 AND random() < 0.01 THEN
            v_suppliers[line] := p_w % p_warehouses + 1;
            v_all_local := false;
        END IF;
        v_quantities := array_append(v_quantities, draw(1, 10)::smallint);
    END LOOP;
    IF random() < 0.01 THEN
        v_items[v_lines] := 0;
    END IF;

    SELECT c_discount, c_last, c_credit, w_tax INTO STRICT v_discount, v_last, v_credit, v_w_tax
    FROM customer, warehouse
    WHERE w_id = p_w AND c_w_id = w_id AND c_d_id = p_d AND c_id = p_c;

    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
    RETURNING d_next_o_id - 1, d_tax INTO v_next, v_d_tax;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (v_next, p_d, p_w, p_c, current_timestamp, v_lines, v_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_next, p_d, p_w);

    SELECT array_agg(i_price ORDER BY place) INTO v_prices
    FROM UNNEST(v_items) WITH ORDINALITY AS wanted (item, place) LEFT JOIN item ON i_id = item;
    IF v_prices[v_lines] IS NULL THEN
        RAISE no_data_found USING MESSAGE = 'Item number is not valid';
    END IF;

    WITH taken AS (
        UPDATE stock
        SET s_quantity = s_quantity - wanted.quantity + CASE WHEN s_quantity < wanted.quantity + 10 THEN 91 ELSE 0 END,
            s_ytd = s_ytd + wanted.quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN wanted.supplier <> p_w THEN 1 ELSE 0 END
        FROM UNNEST(v_items, v_suppliers, v_quantities, v_prices) WITH ORDINALITY AS wanted (item, supplier, quantity, price, line)
        WHERE s_i_id = wanted.item AND s_w_id = wanted.supplier
        RETURNING wanted.line, wanted.quantity * wanted.price AS amount,
            CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
                WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
    )
    SELECT array_agg(amount ORDER BY line), array_agg(dist ORDER BY line), sum(amount) INTO v_amounts, v_dists, v_total FROM taken;

    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
    SELECT p_w, p_d, v_next, lines.number, lines.item, lines.supplier, lines.quantity, lines.amount, lines.dist
    FROM UNNEST(v_items, v_suppliers, v_quantities, v_amounts, v_dists) WITH ORDINALITY
        AS lines (item, supplier, quantity, amount, dist, number);
    RETURN round(v_total * (1 + v_w_tax + v_d_tax) * (1 - v_discount), 2);
EXCEPTION
    WHEN no_data_found THEN
        RETURN NULL;
END $$;

-- The customer in the middle of those of that name, or the one of that number.
CREATE FUNCTION customer_for(p_w integer, p_d integer, p_c integer, p_last text) RETURNS customer LANGUAGE plpgsql AS $$
DECLARE
    found_customer customer;
    named integer;
BEGIN
    IF p_last IS NULL THEN
        SELECT * INTO found_customer FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    ELSE
        SELECT count(*) INTO named FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
        SELECT * INTO found_customer FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
        ORDER BY c_first LIMIT 1 OFFSET (named + 1) / 2 - 1;
    END IF;
    RETURN found_customer;
END $$;

CREATE FUNCTION payment(p_w integer, p_warehouses integer, p_d integer, p_c integer, p_amount numeric)
RETURNS TABLE (customer integer, balance numeric, credit text) LANGUAGE plpgsql AS $$
DECLARE
    v_c_w integer := p_w;
    v_c_d smallint := p_d;
    v_last text := CASE WHEN random() < 0.6 THEN name_of(uneven(255, 30) / 2) END;
    v_row customer%ROWTYPE;
    v_w_name text;
    v_d_name text;
BEGIN
    IF p_warehouses > 1 AND random() < 0.15 THEN
        v_c_w := p_w % p_warehouses + 1;
        v_c_d := draw(1, 10);
    END IF;
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w RETURNING w_name INTO v_w_name;
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d RETURNING d_name INTO v_d_name;
    v_row := customer_for(v_c_w, v_c_d, p_c, v_last);
    IF v_row.c_credit = 'BC' THEN
        v_row.c_data := substr(concat_ws(' ', v_row.c_id, v_c_d, v_c_w, p_d, p_w, p_amount) || '; ' || v_row.c_data, 1, 500);
    END IF;
    UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
        c_payment_cnt = c_payment_cnt + 1, c_data = v_row.c_data
    WHERE c_w_id = v_c_w AND c_d_id = v_c_d AND c_id = v_row.c_id
    RETURNING c_balance INTO v_row.c_balance;
    INSERT INTO history VALUES (v_row.c_id, v_c_d, v_c_w, p_d, p_w, now(), p_amount, v_w_name || '    ' || v_d_name);
    RETURN QUERY SELECT v_row.c_id, v_row.c_balance, v_row.c_credit::text;
END $$;

CREATE FUNCTION ostat(p_w integer, p_d integer, p_c integer)
RETURNS TABLE (item integer, supplier integer, quantity smallint, amount numeric, delivered timestamptz) LANGUAGE plpgsql AS $$
DECLARE
    v_row customer;
    v_order RECORD;
BEGIN
    v_row := customer_for(p_w, p_d, p_c, CASE WHEN random() < 0.6 THEN name_of(uneven(255, 30) / 2) END);
    SELECT o_id, o_carrier_id, o_entry_d INTO v_order FROM orders
    WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_row.c_id ORDER BY o_id DESC LIMIT 1;
    IF NOT FOUND THEN
        RAISE NOTICE 'customer % has no order', v_row.c_id;
        RETURN;
    END IF;
    RETURN QUERY SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order.o_id ORDER BY ol_number;
END $$;

CREATE FUNCTION delivery(p_w integer, p_carrier integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_districts smallint[];
    v_orders integer[];
    v_customers integer[];
    v_amounts numeric[];
BEGIN
    WITH gone AS (
        DELETE FROM new_order USING (
            SELECT d_id AS district, (SELECT min(no_o_id) FROM new_order WHERE no_w_id = p_w AND no_d_id = d_id) AS oldest
            FROM district WHERE d_w_id = p_w
        ) heads
        WHERE no_w_id = p_w AND no_d_id = heads.district AND no_o_id = heads.oldest
        RETURNING no_d_id, no_o_id
    )
    SELECT array_agg(no_d_id ORDER BY no_d_id), array_agg(no_o_id ORDER BY no_d_id) INTO v_districts, v_orders FROM gone;
    IF v_districts IS NULL THEN
        RETURN 0;
    END IF;
    WITH changed AS (
        UPDATE orders SET o_carrier_id = p_carrier
        FROM UNNEST(v_districts, v_orders) AS heads (district, oldest)
        WHERE o_w_id = p_w AND o_d_id = heads.district AND o_id = heads.oldest
        RETURNING o_d_id, o_c_id
    )
    SELECT array_agg(o_c_id ORDER BY o_d_id) INTO v_customers FROM changed;
    WITH changed AS (
        UPDATE order_line SET ol_delivery_d = current_timestamp
        FROM UNNEST(v_districts, v_orders) AS heads (district, oldest)
        WHERE ol_w_id = p_w AND ol_d_id = heads.district AND ol_o_id = heads.oldest
        RETURNING ol_d_id, ol_amount
    ), summed AS (
        SELECT ol_d_id, sum(ol_amount) AS amount FROM changed GROUP BY ol_d_id
    )
    SELECT array_agg(amount ORDER BY ol_d_id) INTO v_amounts FROM summed;
    UPDATE customer SET c_balance = c_balance + due.amount, c_delivery_cnt = c_delivery_cnt + 1
    FROM UNNEST(v_districts, v_customers, v_amounts) AS due (district, customer, amount)
    WHERE c_w_id = p_w AND c_d_id = due.district AND c_id = due.customer;
    RETURN cardinality(v_districts);
END $$;

CREATE FUNCTION slev(p_w integer, p_d integer, p_threshold integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_low integer;
BEGIN
    SELECT COUNT(DISTINCT s_i_id) INTO v_low
    FROM order_line, stock, district
    WHERE d_w_id = p_w AND d_id = p_d
      AND ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20
      AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
    RETURN v_low;
END $$;

INSERT INTO warehouse SELECT w, 'house ' || w, 'street', 'corner', 'city', 'ST', '123456789', 0.1, 3000
FROM generate_series(1, 2) w;
INSERT INTO district SELECT w, d, 'place ' || d, 'street', 'corner', 'city', 'ST', '123456789', 0.05, 300, 31
FROM generate_series(1, 2) w, generate_series(1, 10) d;
INSERT INTO customer (c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_credit, c_discount)
SELECT w, d, c, 'first ' || c * 7 % 31, 'OE', name_of(c / 2), CASE WHEN c % 10 = 0 THEN 'BC' ELSE 'GC' END, 0.05
FROM generate_series(1, 2) w, generate_series(1, 10) d, generate_series(1, 30) c;
INSERT INTO history SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, now(), 10, 'at first' FROM customer;
INSERT INTO item SELECT i, i, 'item ' || i, 1 + i % 100, CASE WHEN i % 10 = 0 THEN 'ORIGINAL' ELSE 'other' END
FROM generate_series(1, 200) i;
INSERT INTO stock SELECT w, i, 10 + i % 91, 'dist 1', 'dist 2', 'dist 3', 'dist 4', 'dist 5', 'dist 6', 'dist 7', 'dist 8',
    'dist 9', 'dist 10', 0, 0, 0, 'stock'
FROM generate_series(1, 2) w, generate_series(1, 200) i;
INSERT INTO orders SELECT w, d, o, o * 7 % 30 + 1, now(), CASE WHEN o <= 20 THEN 1 + o % 10 END, 5 + o % 11, true
FROM generate_series(1, 2) w, generate_series(1, 10) d, generate_series(1, 30) o;
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_carrier_id IS NULL;
INSERT INTO order_line SELECT o_w_id, o_d_id, o_id, l, (o_id * 11 + l) % 200 + 1, o_w_id,
    CASE WHEN o_carrier_id IS NOT NULL THEN now() END, 5, CASE WHEN o_carrier_id IS NULL THEN 1 + l ELSE 0 END, 'at first'
FROM orders, generate_series(1, o_ol_cnt) l;
