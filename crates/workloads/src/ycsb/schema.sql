-- YCSB's one table: a key, a counter that read-modify-writes add to, and filler.
-- The width of the filler is replaced by what makes a row as many bytes as `record-size` says.
CREATE TABLE usertable (
    y_id     bigint   NOT NULL,
    counter  bigint   NOT NULL,
    filler   char(84) NOT NULL,
    PRIMARY KEY (y_id)
) WITH (primary_index = hash);
