-- TPC-C, standard specification 5.11, clause 1.3: nine tables.
--
-- Types are the smallest that hold what the clause asks for. It asks for "at least" so many digits:
-- year-to-date sums and balances get numeric(16,2), because a warehouse that takes 100,000 payments
-- a second would overflow numeric(12,2) within a minute; both are eight bytes in a row.
--
-- Foreign keys are not declared. Clause 1.4 leaves referential integrity to the implementer, and no
-- transaction can break one: rows that are referenced are never deleted, and every inserted row
-- refers to rows its own transaction has just read.

CREATE TABLE warehouse (
    w_id        integer        NOT NULL,
    w_name      varchar(10)    NOT NULL,
    w_street_1  varchar(20)    NOT NULL,
    w_street_2  varchar(20)    NOT NULL,
    w_city      varchar(20)    NOT NULL,
    w_state     char(2)        NOT NULL,
    w_zip       char(9)        NOT NULL,
    w_tax       numeric(4, 4)  NOT NULL,
    w_ytd       numeric(16, 2) NOT NULL,
    PRIMARY KEY (w_id)
) WITH (primary_index = hash);

CREATE TABLE district (
    d_w_id       integer        NOT NULL,
    d_id         smallint       NOT NULL,
    d_name       varchar(10)    NOT NULL,
    d_street_1   varchar(20)    NOT NULL,
    d_street_2   varchar(20)    NOT NULL,
    d_city       varchar(20)    NOT NULL,
    d_state      char(2)        NOT NULL,
    d_zip        char(9)        NOT NULL,
    d_tax        numeric(4, 4)  NOT NULL,
    d_ytd        numeric(16, 2) NOT NULL,
    d_next_o_id  integer        NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
) WITH (primary_index = hash);

CREATE TABLE customer (
    c_w_id          integer        NOT NULL,
    c_d_id          smallint       NOT NULL,
    c_id            integer        NOT NULL,
    c_first         varchar(16)    NOT NULL,
    c_middle        char(2)        NOT NULL,
    c_last          varchar(16)    NOT NULL,
    c_street_1      varchar(20)    NOT NULL,
    c_street_2      varchar(20)    NOT NULL,
    c_city          varchar(20)    NOT NULL,
    c_state         char(2)        NOT NULL,
    c_zip           char(9)        NOT NULL,
    c_phone         char(16)       NOT NULL,
    c_since         timestamptz    NOT NULL,
    c_credit        char(2)        NOT NULL,
    c_credit_lim    numeric(12, 2) NOT NULL,
    c_discount      numeric(4, 4)  NOT NULL,
    c_balance       numeric(16, 2) NOT NULL,
    c_ytd_payment   numeric(16, 2) NOT NULL,
    c_payment_cnt   integer        NOT NULL,
    c_delivery_cnt  integer        NOT NULL,
    c_data          varchar(500)   NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)
) WITH (primary_index = hash);

CREATE INDEX customer_name ON customer USING btree (c_w_id, c_d_id, c_last, c_first);

-- No primary key: rows are only inserted (clause 1.3.1, table layout of HISTORY).
CREATE TABLE history (
    h_c_id    integer       NOT NULL,
    h_c_d_id  smallint      NOT NULL,
    h_c_w_id  integer       NOT NULL,
    h_d_id    smallint      NOT NULL,
    h_w_id    integer       NOT NULL,
    h_date    timestamptz   NOT NULL,
    h_amount  numeric(6, 2) NOT NULL,
    h_data    varchar(24)   NOT NULL
);

CREATE TABLE orders (
    o_w_id        integer     NOT NULL,
    o_d_id        smallint    NOT NULL,
    o_id          integer     NOT NULL,
    o_c_id        integer     NOT NULL,
    o_entry_d     timestamptz NOT NULL,
    o_carrier_id  smallint,
    o_ol_cnt      smallint    NOT NULL,
    o_all_local   smallint    NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
) WITH (primary_index = btree);

CREATE INDEX orders_customer ON orders USING btree (o_w_id, o_d_id, o_c_id, o_id);

CREATE TABLE new_order (
    no_w_id  integer  NOT NULL,
    no_d_id  smallint NOT NULL,
    no_o_id  integer  NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) WITH (primary_index = btree);

CREATE TABLE order_line (
    ol_w_id         integer       NOT NULL,
    ol_d_id         smallint      NOT NULL,
    ol_o_id         integer       NOT NULL,
    ol_number       smallint      NOT NULL,
    ol_i_id         integer       NOT NULL,
    ol_supply_w_id  integer       NOT NULL,
    ol_delivery_d   timestamptz,
    ol_quantity     integer       NOT NULL,
    ol_amount       numeric(6, 2) NOT NULL,
    ol_dist_info    char(24)      NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) WITH (primary_index = btree);

CREATE TABLE item (
    i_id     integer       NOT NULL,
    i_im_id  integer       NOT NULL,
    i_name   varchar(24)   NOT NULL,
    i_price  numeric(5, 2) NOT NULL,
    i_data   varchar(50)   NOT NULL,
    PRIMARY KEY (i_id)
) WITH (primary_index = hash);

CREATE TABLE stock (
    s_w_id        integer     NOT NULL,
    s_i_id        integer     NOT NULL,
    s_quantity    integer     NOT NULL,
    s_dist_01     char(24)    NOT NULL,
    s_dist_02     char(24)    NOT NULL,
    s_dist_03     char(24)    NOT NULL,
    s_dist_04     char(24)    NOT NULL,
    s_dist_05     char(24)    NOT NULL,
    s_dist_06     char(24)    NOT NULL,
    s_dist_07     char(24)    NOT NULL,
    s_dist_08     char(24)    NOT NULL,
    s_dist_09     char(24)    NOT NULL,
    s_dist_10     char(24)    NOT NULL,
    s_ytd         integer     NOT NULL,
    s_order_cnt   integer     NOT NULL,
    s_remote_cnt  integer     NOT NULL,
    s_data        varchar(50) NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)
) WITH (primary_index = hash);
