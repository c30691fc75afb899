//! The numbers of the system catalog: of its own relations, and where those of each kind begin.
//!
//! Role         those of PostgreSQL's tables are PostgreSQL's, since its tools know them by heart
//!              (pg_dump does); others are counted
//! Source       PostgreSQL 15, the headers of its catalog

use super::KNOWN;

/// By name.
const POSTGRESQLS: &[(&str, i64)] = &[
    ("pg_am", 2601),
    ("pg_amop", 2602),
    ("pg_amproc", 2603),
    ("pg_attrdef", 2604),
    ("pg_attribute", 1249),
    ("pg_auth_members", 1261),
    ("pg_authid", 1260),
    ("pg_cast", 2605),
    ("pg_class", 1259),
    ("pg_collation", 3456),
    ("pg_constraint", 2606),
    ("pg_conversion", 2607),
    ("pg_database", 1262),
    ("pg_db_role_setting", 2964),
    ("pg_default_acl", 826),
    ("pg_depend", 2608),
    ("pg_description", 2609),
    ("pg_enum", 3501),
    ("pg_event_trigger", 3466),
    ("pg_extension", 3079),
    ("pg_foreign_data_wrapper", 2328),
    ("pg_foreign_server", 1417),
    ("pg_foreign_table", 3118),
    ("pg_index", 2610),
    ("pg_inherits", 2611),
    ("pg_init_privs", 3394),
    ("pg_language", 2612),
    ("pg_largeobject", 2613),
    ("pg_largeobject_metadata", 2995),
    ("pg_namespace", 2615),
    ("pg_opclass", 2616),
    ("pg_operator", 2617),
    ("pg_opfamily", 2753),
    ("pg_partitioned_table", 3350),
    ("pg_policy", 3256),
    ("pg_proc", 1255),
    ("pg_publication", 6104),
    ("pg_publication_namespace", 6237),
    ("pg_publication_rel", 6106),
    ("pg_range", 3541),
    ("pg_rewrite", 2618),
    ("pg_seclabel", 3596),
    ("pg_sequence", 2224),
    ("pg_shdescription", 2396),
    ("pg_shseclabel", 3592),
    ("pg_statistic_ext", 3381),
    ("pg_subscription", 6100),
    ("pg_tablespace", 1213),
    ("pg_transform", 3576),
    ("pg_trigger", 2620),
    ("pg_ts_config", 3602),
    ("pg_ts_dict", 3600),
    ("pg_ts_parser", 3601),
    ("pg_ts_template", 3764),
    ("pg_type", 1247),
];

/// The number of the relation at a place.
pub(super) fn number_of(at: usize) -> i64 {
    let known = KNOWN.get(at).filter(|known| known.schema == "pg_catalog");
    let own = known.and_then(|known| POSTGRESQLS.iter().find(|(name, _)| *name == known.name));
    own.map_or(SYSTEM_RELATIONS.of(at), |(_, number)| *number)
}

/// The number of the relation of `pg_catalog` with this name.
pub(super) fn number_of_named(name: &str) -> i64 {
    let is_it = |known: &super::SystemRelation| known.schema == "pg_catalog" && known.name == name;
    KNOWN.iter().position(is_it).map_or(0, number_of)
}

/// Where the relation with a number stands.
pub(super) fn place_of(number: i64) -> Option<usize> {
    (0..KNOWN.len()).find(|at| number_of(*at) == number)
}

/// Where the numbers of a kind of objects begin. They never meet: there are at most 65,536 tables
/// and as many indexes, with at most 2,048 parts each.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) i64);

/// Numbers of objects that are made of ids.
impl Number {
    pub(super) const fn of(self, id: usize) -> i64 {
        self.0 + id as i64
    }

    /// Of the part of a table.
    pub(super) const fn of_part(self, table: usize, part: usize) -> i64 {
        self.0 + (table as i64) * 2048 + part as i64
    }
}

/// The number of the database.
pub(super) const DATABASE: i64 = 16_383;
pub(super) const SYSTEM_RELATIONS: Number = Number(12_000);
pub(super) const TABLES: Number = Number(16_384);
pub(super) const INDEXES: Number = Number(100_000);
pub(super) const CONSTRAINTS: Number = Number(200_000);
pub(super) const PROCEDURES: Number = Number(300_000);
pub(super) const VIEWS: Number = Number(500_000_000);
pub(super) const DEFAULTS: Number = Number(1_000_000_000);
pub(super) const CHECKS: Number = Number(1_200_000_000);
pub(super) const FOREIGN_KEYS: Number = Number(1_400_000_000);
pub(super) const TRIGGERS: Number = Number(1_600_000_000);
pub(super) const VIEW_TRIGGERS: Number = Number(1_740_000_000);
/// Of views, by their numbers.
pub(super) const RULES: Number = Number(2_000_000_000);
/// Of domains, two for each: the domain's, and that of arrays of it.
pub(super) const DOMAINS: Number = Number(660_000_000);
/// Of the constraints of domains.
pub(super) const DOMAIN_CHECKS: Number = Number(2_200_000_000);
pub(super) const POLICIES: Number = Number(1_800_000_000);
/// Of the relations that composite types are listed as.
pub(super) const COMPOSITES: Number = Number(1_900_000_000);
/// Of an enum's labels: each type's are counted from here on, for nobody names them alone.
pub(super) const LABELS: Number = Number(1_580_000_000);

pub(super) fn id(number: i64, of: Number) -> Option<usize> {
    usize::try_from(number.checked_sub(of.0)?).ok()
}
