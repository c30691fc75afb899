-- TPC-B's table of tellers alone. Keys stand `spacing` apart, so that there are values between them.
CREATE TABLE teller (
    t_id       integer  NOT NULL,
    t_balance  bigint   NOT NULL,
    t_filler   char(88) NOT NULL,
    PRIMARY KEY (t_id)
) WITH (primary_index = btree);
