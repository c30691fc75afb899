CREATE TABLE product (id integer PRIMARY KEY, stock integer NOT NULL CHECK (stock >= 0));
CREATE TABLE sale (order_id bigint PRIMARY KEY, product integer NOT NULL, buyer integer NOT NULL);
INSERT INTO product VALUES (1, 100);

CREATE FUNCTION buy(p_product integer, p_order bigint, p_buyer integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_left integer;
BEGIN
    UPDATE product SET stock = stock - 1 WHERE id = p_product AND stock > 0
        RETURNING stock INTO v_left;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'product % is sold out', p_product;
    END IF;
    INSERT INTO sale VALUES (p_order, p_product, p_buyer);
    RETURN v_left;
END $$;
