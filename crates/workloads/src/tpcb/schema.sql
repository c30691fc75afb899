-- TPC-B, standard specification revision 2.0: three tables of balances, and their history.
--
-- Rows have the lengths that the specification asks for: 100 bytes, and 50 of history. Balances are
-- whole numbers of the smallest unit of money.

CREATE TABLE branch (
    b_id       integer  NOT NULL,
    b_balance  bigint   NOT NULL,
    b_filler   char(88) NOT NULL,
    PRIMARY KEY (b_id)
) WITH (primary_index = hash);

CREATE TABLE teller (
    t_id       integer  NOT NULL,
    t_b_id     integer  NOT NULL,
    t_balance  bigint   NOT NULL,
    t_filler   char(84) NOT NULL,
    PRIMARY KEY (t_id)
) WITH (primary_index = hash);

CREATE TABLE account (
    a_id       integer  NOT NULL,
    a_b_id     integer  NOT NULL,
    a_balance  bigint   NOT NULL,
    a_filler   char(84) NOT NULL,
    PRIMARY KEY (a_id)
) WITH (primary_index = hash);

-- No primary key: rows are only inserted. What h_updates says is ours: which of the balances the
-- amount went to, 1 for the account's, 2 for the teller's, 4 for the branch's; all of them (7) but
-- where updates were turned into reads.
CREATE TABLE history (
    h_t_id     integer     NOT NULL,
    h_b_id     integer     NOT NULL,
    h_a_id     integer     NOT NULL,
    h_delta    bigint      NOT NULL,
    h_updates  smallint    NOT NULL,
    h_time     timestamptz NOT NULL,
    h_filler   char(20)    NOT NULL
);
