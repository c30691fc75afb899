CREATE TABLE owner (id int PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, since timestamptz DEFAULT now());

CREATE TABLE account (
    id bigint PRIMARY KEY,
    owner_id int NOT NULL REFERENCES owner (id),
    balance numeric(12, 2) NOT NULL DEFAULT 0 CHECK (balance >= -100),
    open boolean DEFAULT true,
    note text
);

CREATE INDEX account_owner ON account (owner_id, balance);

CREATE TABLE line (
    account_id bigint NOT NULL,
    number smallint NOT NULL,
    amount double precision,
    day date,
    mark char(3),
    raw bytea,
    PRIMARY KEY (account_id, number)
);

CREATE TABLE event (id bigserial PRIMARY KEY, what text);

CREATE SEQUENCE ticket START 10 INCREMENT 5;

INSERT INTO owner (id, name) VALUES (1, 'ann'), (2, 'bob'), (3, 'cid');

INSERT INTO account (id, owner_id, balance) SELECT g, g % 3 + 1, g * 10 FROM generate_series(1, 30) g;

CREATE FUNCTION pay(which bigint, amount numeric) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    left_over numeric;
BEGIN
    UPDATE account SET balance = balance - amount WHERE id = which RETURNING balance INTO left_over;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no account %', which USING HINT = 'open one', ERRCODE = '22023';
    END IF;
    RETURN left_over;
END $$;

CREATE FUNCTION total(numbers bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    sum bigint := 0;
BEGIN
    FOR i IN 1 .. array_length(numbers, 1) LOOP
        sum := sum + numbers[i];
    END LOOP;
    RETURN sum;
END $$;

CREATE FUNCTION lines_of(which bigint) RETURNS TABLE (number smallint, amount double precision) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT l.number, l.amount FROM line l WHERE l.account_id = which ORDER BY l.number;
END $$;
