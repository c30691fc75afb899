-- A key/value store: partitions of 3-byte keys, each with a value of 4 bytes that writes add to.
-- kv_partition decides where a row lies, so that a partition here is one of the engine's.
CREATE TABLE kv (
    kv_partition  bigint   NOT NULL,
    kv_key        bytea    NOT NULL,
    kv_value      integer  NOT NULL,
    PRIMARY KEY (kv_partition, kv_key)
) WITH (primary_index = hash, routing = 'kv_partition');
