-- TATP 1.0 (first published as TM1): subscribers of a mobile network, and what they may do.
--
-- Columns are named and sized as in the specification; what it calls tiny integers are smallints.

CREATE TABLE subscriber (
    s_id       integer     NOT NULL,
    sub_nbr    varchar(15) NOT NULL,
    bit_1      smallint    NOT NULL,
    bit_2      smallint    NOT NULL,
    bit_3      smallint    NOT NULL,
    bit_4      smallint    NOT NULL,
    bit_5      smallint    NOT NULL,
    bit_6      smallint    NOT NULL,
    bit_7      smallint    NOT NULL,
    bit_8      smallint    NOT NULL,
    bit_9      smallint    NOT NULL,
    bit_10     smallint    NOT NULL,
    hex_1      smallint    NOT NULL,
    hex_2      smallint    NOT NULL,
    hex_3      smallint    NOT NULL,
    hex_4      smallint    NOT NULL,
    hex_5      smallint    NOT NULL,
    hex_6      smallint    NOT NULL,
    hex_7      smallint    NOT NULL,
    hex_8      smallint    NOT NULL,
    hex_9      smallint    NOT NULL,
    hex_10     smallint    NOT NULL,
    byte2_1    smallint    NOT NULL,
    byte2_2    smallint    NOT NULL,
    byte2_3    smallint    NOT NULL,
    byte2_4    smallint    NOT NULL,
    byte2_5    smallint    NOT NULL,
    byte2_6    smallint    NOT NULL,
    byte2_7    smallint    NOT NULL,
    byte2_8    smallint    NOT NULL,
    byte2_9    smallint    NOT NULL,
    byte2_10   smallint    NOT NULL,
    msc_location integer   NOT NULL,
    vlr_location integer   NOT NULL,
    PRIMARY KEY (s_id)
) WITH (primary_index = hash);

-- A call comes in for a number.
CREATE UNIQUE INDEX subscriber_nbr ON subscriber USING hash (sub_nbr);

CREATE TABLE access_info (
    s_id       integer     NOT NULL,
    ai_type    smallint    NOT NULL,
    data1      smallint    NOT NULL,
    data2      smallint    NOT NULL,
    data3      char(3)     NOT NULL,
    data4      char(5)     NOT NULL,
    PRIMARY KEY (s_id, ai_type)
) WITH (primary_index = hash);

CREATE TABLE special_facility (
    s_id        integer    NOT NULL,
    sf_type     smallint   NOT NULL,
    is_active   smallint   NOT NULL,
    error_cntrl smallint   NOT NULL,
    data_a      smallint   NOT NULL,
    data_b      char(5)    NOT NULL,
    PRIMARY KEY (s_id, sf_type)
);

CREATE TABLE call_forwarding (
    s_id       integer     NOT NULL,
    sf_type    smallint    NOT NULL,
    start_time smallint    NOT NULL,
    end_time   smallint    NOT NULL,
    numberx    varchar(15) NOT NULL,
    PRIMARY KEY (s_id, sf_type, start_time)
);
