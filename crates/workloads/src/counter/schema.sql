-- One table of counters.
CREATE TABLE counter (
    c_id     bigint NOT NULL,
    c_value  bigint NOT NULL,
    PRIMARY KEY (c_id)
) WITH (primary_index = hash);
