//! The system catalog: relations of `pg_catalog` and `information_schema` that clients look tables
//! up in, made up from our own catalog when they are read.
//!
//! Role         what there is, with PostgreSQL's names and types; `rows` fills in what is known,
//!              `functions` answers for names and numbers
//! Invariants   I1 a column that nothing is known of has a value that says so: false, 0, NULL
//!              I2 numbers of relations are stable for as long as the database lives: they follow
//!              from ids, which are not used twice

mod cells;
mod classes;
mod constraints;
mod deparse;
mod descriptions;
mod domain_numbers;
mod domains;
mod functions;
mod information;
mod numbers;
mod partitions;
mod policies;
mod rights;
mod routines;
mod rows;
mod settings_of_roles;
mod statistics;
mod texts;
mod triggers;
mod types;
mod view_text;

use std::sync::LazyLock;

use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::RightOf;
use hotrow_transaction::catalog::{Catalog, SearchPath};
use hotrow_transaction::program::Procedure;

pub use cells::is_function;
pub(super) use cells::schema_number;
pub(super) use functions::relation_number;
pub use functions::table_number;
pub use functions::{sequence_named, system_function};
pub use rows::system_rows;
pub(crate) use texts::{attribute_name, check_anywhere, key_name, short_name};

/// What the system catalog is made up from.
pub struct SystemContext<'a> {
    /// tables and indexes
    pub catalog: &'a Catalog,
    /// where who asks has bare names looked for
    pub path: &'a SearchPath,
    /// numbers, procedures and their texts
    pub procedures: Vec<(u32, &'a Procedure, &'a str)>,
    /// who asks: the role that his statements are run with
    pub user: &'a str,
    /// his role; none: he is the database's maker
    pub role: Option<&'a str>,
    /// the user of his session
    pub session_user: &'a str,
    /// what the database's maker is called
    pub maker: &'a str,
    /// the database's name
    pub database: &'a str,
    /// the session's number
    pub session: i32,
    /// the value of a setting
    pub setting: &'a dyn Fn(&str) -> Option<String>,
    /// names, values and descriptions of all settings
    pub settings: Vec<(String, String, String)>,
    /// the last number that a sequence has given
    pub last_number: &'a dyn Fn(TableId) -> Option<i64>,
    /// the rows of a view of schema `hotrow`, by its full name
    pub own: &'a dyn Fn(&str) -> Vec<Fields>,
}

/// Whether somebody has a right of something: `has_table_privilege` and its kin.
///
/// Errors: 42P01 and the like for what there is none of, 42704 for such a role, 22023 for a right
/// that is none.
pub fn has_right(
    context: &SystemContext<'_>,
    of: RightOf,
    arguments: &[Value],
) -> crate::error::Result<Value> {
    rights::has_right(context, of, arguments)
}

/// A row being made: names and values; the rest is filled in.
pub type Fields = Vec<(&'static str, Value)>;

/// A column's name and type.
pub(super) type SystemColumn = (&'static str, SqlType);

/// A column that `*` does not stand for: the number of the relation that a row is of.
pub(super) const OF_RELATION: &str = "tableoid";

/// A relation.
struct SystemRelation {
    schema: &'static str,
    name: &'static str,
    full_name: &'static str,
    columns: Vec<SystemColumn>,
}

const STATISTICS_OF_TABLES: &str = "relid:o schemaname:n relname:n seq_scan:l \
     seq_tup_read:l idx_scan:l idx_tup_fetch:l n_tup_ins:l n_tup_upd:l n_tup_del:l \
     n_tup_hot_upd:l n_live_tup:l n_dead_tup:l n_mod_since_analyze:l n_ins_since_vacuum:l \
     last_vacuum:z last_autovacuum:z last_analyze:z last_autoanalyze:z vacuum_count:l \
     autovacuum_count:l analyze_count:l autoanalyze_count:l";
const BLOCKS_OF_TABLES: &str = "relid:o schemaname:n relname:n heap_blks_read:l \
     heap_blks_hit:l idx_blks_read:l idx_blks_hit:l toast_blks_read:l toast_blks_hit:l \
     tidx_blks_read:l tidx_blks_hit:l";

/// Names, and columns with a letter for their types: `o` oid (an object's number), `l` bigint, `i`
/// integer, `s` smallint, `b` boolean, `f` real, `n` name, `t` text, `c` "char", `z` timestamptz;
/// capital letters: arrays.
const RELATIONS: &[(&str, &str)] = &[
    ("pg_catalog.pg_namespace", "oid:o nspname:n nspowner:o nspacl:T"),
    (
        "pg_catalog.pg_class",
        "oid:o relname:n relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o \
         reltablespace:o relpages:i reltuples:f relallvisible:i reltoastrelid:o relhasindex:b \
         relisshared:b relpersistence:c relkind:c relnatts:s relchecks:s relhasrules:b \
         relhastriggers:b relhassubclass:b relrowsecurity:b relforcerowsecurity:b \
         relispopulated:b relreplident:c relispartition:b relrewrite:o relfrozenxid:o \
         relminmxid:o relacl:T reloptions:T relpartbound:t",
    ),
    (
        "pg_catalog.pg_attribute",
        "attrelid:o attname:n atttypid:o attstattarget:i attlen:s attnum:s attndims:i \
         attcacheoff:i atttypmod:i attbyval:b attstorage:c attcompression:c attalign:c \
         attnotnull:b atthasdef:b atthasmissing:b attidentity:c attgenerated:c attisdropped:b \
         attislocal:b attinhcount:i attcollation:o attacl:T attoptions:T attfdwoptions:T \
         attmissingval:t",
    ),
    ("pg_catalog.pg_attrdef", "oid:o adrelid:o adnum:s adbin:t"),
    (
        "pg_catalog.pg_type",
        "oid:o typname:n typnamespace:o typowner:o typlen:s typbyval:b typtype:c typcategory:c \
         typispreferred:b typisdefined:b typdelim:c typrelid:o typsubscript:t typelem:o \
         typarray:o typinput:t typoutput:t typreceive:t typsend:t typalign:c typstorage:c \
         typnotnull:b typbasetype:o typtypmod:i typndims:i typcollation:o typdefaultbin:t \
         typdefault:t typacl:T",
    ),
    (
        "pg_catalog.pg_index",
        "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indnullsnotdistinct:b \
         indisprimary:b indisexclusion:b indimmediate:b indisclustered:b indisvalid:b \
         indcheckxmin:b indisready:b indislive:b indisreplident:b indkey:S indcollation:O \
         indclass:O indoption:S indexprs:t indpred:t",
    ),
    (
        "pg_catalog.pg_constraint",
        "oid:o conname:n connamespace:o contype:c condeferrable:b condeferred:b convalidated:b \
         conrelid:o contypid:o conindid:o conparentid:o confrelid:o confupdtype:c confdeltype:c \
         confmatchtype:c conislocal:b coninhcount:i connoinherit:b conkey:S confkey:S conbin:t",
    ),
    (
        "pg_catalog.pg_proc",
        "oid:o proname:n pronamespace:o proowner:o prolang:o procost:f prorows:f provariadic:o \
         prokind:c prosecdef:b proleakproof:b proisstrict:b proretset:b provolatile:c \
         proparallel:c pronargs:s pronargdefaults:s prorettype:o proargtypes:O \
         proallargtypes:O proargmodes:C proargnames:T prosrc:t proacl:T prosupport:t \
         probin:t proconfig:T protrftypes:O prosqlbody:t proargdefaults:t",
    ),
    ("pg_catalog.pg_am", "oid:o amname:n amhandler:t amtype:c"),
    (
        "pg_catalog.pg_database",
        "oid:o datname:n datdba:o encoding:i datlocprovider:c datistemplate:b datallowconn:b \
         datconnlimit:i dattablespace:o datcollate:t datctype:t daticulocale:t datcollversion:t \
         datacl:T",
    ),
    (
        "pg_catalog.pg_roles",
        "rolname:n rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b \
         rolreplication:b rolconnlimit:i rolpassword:t rolvaliduntil:z rolbypassrls:b \
         rolconfig:T oid:o",
    ),
    (
        "pg_catalog.pg_authid",
        "oid:o rolname:n rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b \
         rolreplication:b rolbypassrls:b rolconnlimit:i rolpassword:t rolvaliduntil:z",
    ),
    (
        "pg_catalog.pg_user",
        "usename:n usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:t \
         valuntil:z useconfig:T",
    ),
    (
        "pg_catalog.pg_tables",
        "schemaname:n tablename:n tableowner:n tablespace:t hasindexes:b hasrules:b \
         hastriggers:b rowsecurity:b",
    ),
    ("pg_catalog.pg_indexes", "schemaname:n tablename:n indexname:n tablespace:t indexdef:t"),
    ("pg_catalog.pg_views", "schemaname:n viewname:n viewowner:n definition:t"),
    (
        "pg_catalog.pg_settings",
        "name:t setting:t unit:t category:t short_desc:t extra_desc:t context:t vartype:t \
         source:t min_val:t max_val:t enumvals:T boot_val:t reset_val:t pending_restart:b",
    ),
    (
        "pg_catalog.pg_prepared_statements",
        "name:t statement:t prepare_time:z parameter_types:T from_sql:b generic_plans:l \
         custom_plans:l",
    ),
    ("pg_catalog.pg_tablespace", "oid:o spcname:n spcowner:o spcacl:T spcoptions:T"),
    (
        "pg_catalog.pg_language",
        "oid:o lanname:n lanowner:o lanispl:b lanpltrusted:b lanplcallfoid:o laninline:o \
         lanvalidator:o lanacl:T",
    ),
    (
        "pg_catalog.pg_collation",
        "oid:o collname:n collnamespace:o collowner:o collprovider:c collencoding:i",
    ),
    (
        "hotrow.engine_status",
        "engine:t settings:t choice:t threads:l durability:t uptime_s:l committed:l failed:l \
         undone:l replanned:l run_alone:l lock_waits:l messages:l running:l parked:l queued:l \
         queue_capacity:l \
         open_transactions:l open_transactions_max:l statements:l statements_failed:l \
         session_commits:l session_rollbacks:l session_repeats:l snapshots:l snapshot_bytes:l \
         calls_refused:l execute_ms:l plan_ms:l lock_ms:l wait_ms:l log_ms:l idle_ms:l \
         memory_bytes:l memory_limit_bytes:l log_bytes:l log_entries:l log_syncs:l log_sync_ms:l \
         log_since_checkpoint_bytes:l log_failure:t",
    ),
    (
        "hotrow.calls",
        "procedure:t calls:l failed:l mean_us:f p50_us:f p99_us:f max_us:f queue_us:f plan_us:f \
         lock_us:f execute_us:f reply_us:f log_us:f",
    ),
    ("hotrow.hot_keys", "table_name:t key:t waits:l total_ms:f longest_ms:f"),
    ("hotrow.waits", "table_name:t key:t waiter:t holder:t waits:l total_ms:f longest_ms:f"),
    (
        "pg_catalog.pg_stat_activity",
        "datid:o datname:n pid:i leader_pid:i usesysid:o usename:n application_name:t \
         client_addr:t client_hostname:t client_port:i backend_start:z xact_start:z query_start:z \
         state_change:z wait_event_type:t wait_event:t state:t backend_xid:l backend_xmin:l \
         query_id:l query:t backend_type:t",
    ),
    (
        "pg_catalog.pg_stat_database",
        "datid:o datname:n numbackends:i xact_commit:l xact_rollback:l blks_read:l blks_hit:l \
         tup_returned:l tup_fetched:l tup_inserted:l tup_updated:l tup_deleted:l conflicts:l \
         temp_files:l temp_bytes:l deadlocks:l stats_reset:z",
    ),
    ("pg_catalog.pg_stat_all_tables", STATISTICS_OF_TABLES),
    ("pg_catalog.pg_stat_user_tables", STATISTICS_OF_TABLES),
    ("pg_catalog.pg_statio_all_tables", BLOCKS_OF_TABLES),
    ("pg_catalog.pg_statio_user_tables", BLOCKS_OF_TABLES),
    // What there is none of:
    ("pg_catalog.pg_description", "objoid:o classoid:o objsubid:i description:t"),
    ("pg_catalog.pg_shdescription", "objoid:o classoid:o description:t"),
    (
        "pg_catalog.pg_policy",
        "oid:o polname:n polrelid:o polcmd:c polpermissive:b polroles:O polqual:t polwithcheck:t",
    ),
    ("pg_catalog.pg_inherits", "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b"),
    (
        "pg_catalog.pg_partitioned_table",
        "partrelid:o partstrat:c partnatts:s partdefid:o partattrs:S partclass:O partcollation:O",
    ),
    (
        "pg_catalog.pg_statistic_ext",
        "oid:o stxrelid:o stxname:n stxnamespace:o stxowner:o stxstattarget:i stxkeys:S stxkind:C",
    ),
    (
        "pg_catalog.pg_publication",
        "oid:o pubname:n pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b \
         pubtruncate:b pubviaroot:b",
    ),
    ("pg_catalog.pg_publication_namespace", "oid:o pnpubid:o pnnspid:o"),
    ("pg_catalog.pg_publication_rel", "oid:o prpubid:o prrelid:o prqual:t prattrs:S"),
    (
        "pg_catalog.pg_trigger",
        "oid:o tgrelid:o tgparentid:o tgname:n tgfoid:o tgtype:s tgenabled:c tgisinternal:b \
         tgconstrrelid:o tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b \
         tgnargs:s tgattr:S tgoldtable:n tgnewtable:n",
    ),
    (
        "pg_catalog.pg_policy",
        "oid:o polname:n polrelid:o polcmd:c polpermissive:b polroles:O polqual:t polwithcheck:t",
    ),
    (
        "pg_catalog.pg_policies",
        "schemaname:n tablename:n policyname:n permissive:t roles:T cmd:t qual:t with_check:t",
    ),
    (
        "pg_catalog.pg_rewrite",
        "oid:o rulename:n ev_class:o ev_type:c ev_enabled:c is_instead:b ev_qual:t ev_action:t",
    ),
    ("pg_catalog.pg_enum", "oid:o enumtypid:o enumsortorder:f enumlabel:n"),
    (
        "pg_catalog.pg_extension",
        "oid:o extname:n extowner:o extnamespace:o extrelocatable:b extversion:t extconfig:O \
         extcondition:T",
    ),
    ("pg_catalog.pg_db_role_setting", "setdatabase:o setrole:o setconfig:T"),
    ("pg_catalog.pg_auth_members", "roleid:o member:o grantor:o admin_option:b"),
    (
        "pg_catalog.pg_sequence",
        "seqrelid:o seqtypid:o seqstart:l seqincrement:l seqmax:l seqmin:l seqcache:l seqcycle:b",
    ),
    (
        "pg_catalog.pg_sequences",
        "schemaname:n sequencename:n sequenceowner:n data_type:t start_value:l min_value:l \
         max_value:l increment_by:l cycle:b cache_size:l last_value:l",
    ),
    (
        "pg_catalog.pg_matviews",
        "schemaname:n matviewname:n matviewowner:n tablespace:t hasindexes:b ispopulated:b \
         definition:t",
    ),
    ("pg_catalog.pg_foreign_table", "ftrelid:o ftserver:o ftoptions:T"),
    (
        "pg_catalog.pg_foreign_server",
        "oid:o srvname:n srvowner:o srvfdw:o srvtype:t srvversion:t srvacl:T srvoptions:T",
    ),
    (
        "pg_catalog.pg_foreign_data_wrapper",
        "oid:o fdwname:n fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:T fdwoptions:T",
    ),
    ("pg_catalog.pg_init_privs", "objoid:o classoid:o objsubid:i privtype:c initprivs:T"),
    ("pg_catalog.pg_opfamily", "oid:o opfmethod:o opfname:n opfnamespace:o opfowner:o"),
    ("pg_catalog.pg_amop", "oid:o amopfamily:o amopmethod:o amopopr:o"),
    ("pg_catalog.pg_amproc", "oid:o amprocfamily:o amprocnum:s amproc:o"),
    (
        "pg_catalog.pg_ts_parser",
        "oid:o prsname:n prsnamespace:o prsstart:o prstoken:o prsend:o prsheadline:o \
         prslextype:o",
    ),
    ("pg_catalog.pg_ts_template", "oid:o tmplname:n tmplnamespace:o tmplinit:o tmpllexize:o"),
    (
        "pg_catalog.pg_ts_dict",
        "oid:o dictname:n dictnamespace:o dictowner:o dicttemplate:o dictinitoption:t",
    ),
    ("pg_catalog.pg_ts_config", "oid:o cfgname:n cfgnamespace:o cfgowner:o cfgparser:o"),
    ("pg_catalog.pg_conversion", "oid:o conname:n connamespace:o conowner:o"),
    ("pg_catalog.pg_transform", "oid:o trftype:o trflang:o trffromsql:o trftosql:o"),
    ("pg_catalog.pg_largeobject_metadata", "oid:o lomowner:o lomacl:T"),
    ("pg_catalog.pg_largeobject", "loid:o pageno:i"),
    (
        "pg_catalog.pg_seclabels",
        "objoid:o classoid:o objsubid:i objtype:t objnamespace:o objname:t provider:t label:t",
    ),
    ("pg_catalog.pg_seclabel", "objoid:o classoid:o objsubid:i provider:t label:t"),
    ("pg_catalog.pg_shseclabel", "objoid:o classoid:o provider:t label:t"),
    (
        "pg_catalog.pg_depend",
        "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:c",
    ),
    ("pg_catalog.pg_range", "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o"),
    (
        "pg_catalog.pg_event_trigger",
        "oid:o evtname:n evtevent:n evtowner:o evtfoid:o evtenabled:c evttags:T",
    ),
    (
        "pg_catalog.pg_subscription",
        "oid:o subdbid:o subname:n subowner:o subenabled:b subbinary:b substream:b \
         subtwophasestate:c subdisableonerr:b subconninfo:t subslotname:t subsynccommit:t \
         subpublications:T",
    ),
    (
        "pg_catalog.pg_default_acl",
        "oid:o defaclrole:o defaclnamespace:o defaclobjtype:c defaclacl:T",
    ),
    (
        "information_schema.table_privileges",
        "grantor:t grantee:t table_catalog:t table_schema:t table_name:t privilege_type:t \
         is_grantable:t with_hierarchy:t",
    ),
    (
        "information_schema.role_table_grants",
        "grantor:t grantee:t table_catalog:t table_schema:t table_name:t privilege_type:t \
         is_grantable:t with_hierarchy:t",
    ),
    ("pg_catalog.pg_cast", "oid:o castsource:o casttarget:o castfunc:o castcontext:c castmethod:c"),
    (
        "pg_catalog.pg_opclass",
        "oid:o opcmethod:o opcname:n opcnamespace:o opcowner:o opcfamily:o opcdefault:b \
         opcintype:o",
    ),
    (
        "pg_catalog.pg_operator",
        "oid:o oprname:n oprnamespace:o oprowner:o oprkind:c oprleft:o oprright:o oprresult:o \
         oprcode:o",
    ),
    ("information_schema.schemata", "catalog_name:t schema_name:t schema_owner:t"),
    (
        "information_schema.tables",
        "table_catalog:t table_schema:t table_name:t table_type:t is_insertable_into:t is_typed:t",
    ),
    (
        "information_schema.columns",
        "table_catalog:t table_schema:t table_name:t column_name:t ordinal_position:i \
         column_default:t is_nullable:t data_type:t character_maximum_length:i \
         numeric_precision:i numeric_scale:i datetime_precision:i domain_catalog:t \
         domain_schema:t domain_name:t udt_name:t is_identity:t \
         identity_generation:t is_generated:t generation_expression:t \
         is_updatable:t",
    ),
    (
        "information_schema.domains",
        "domain_catalog:t domain_schema:t domain_name:t data_type:t domain_default:t \
         udt_catalog:t udt_schema:t udt_name:t",
    ),
    (
        "information_schema.domain_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t domain_catalog:t \
         domain_schema:t domain_name:t is_deferrable:t initially_deferred:t",
    ),
    (
        "information_schema.table_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t \
         table_schema:t table_name:t constraint_type:t is_deferrable:t initially_deferred:t",
    ),
    (
        "information_schema.key_column_usage",
        "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t \
         table_schema:t table_name:t column_name:t ordinal_position:i \
         position_in_unique_constraint:i",
    ),
    (
        "information_schema.referential_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t \
         unique_constraint_catalog:t unique_constraint_schema:t unique_constraint_name:t \
         match_option:t update_rule:t delete_rule:t",
    ),
    (
        "information_schema.constraint_column_usage",
        "table_catalog:t table_schema:t table_name:t column_name:t constraint_catalog:t \
         constraint_schema:t constraint_name:t",
    ),
    (
        "information_schema.routines",
        "routine_catalog:t routine_schema:t routine_name:t routine_type:t data_type:t \
         routine_definition:t external_language:t",
    ),
    (
        "information_schema.triggers",
        "trigger_catalog:t trigger_schema:t trigger_name:t event_manipulation:t \
         event_object_catalog:t event_object_schema:t event_object_table:t action_order:i \
         action_condition:t action_statement:t action_orientation:t action_timing:t \
         action_reference_old_table:t action_reference_new_table:t",
    ),
    (
        "information_schema.views",
        "table_catalog:t table_schema:t table_name:t view_definition:t check_option:t \
         is_updatable:t is_insertable_into:t is_trigger_updatable:t is_trigger_deletable:t \
         is_trigger_insertable_into:t",
    ),
    (
        "information_schema.sequences",
        "sequence_catalog:t sequence_schema:t sequence_name:t data_type:t start_value:t \
         minimum_value:t maximum_value:t increment:t cycle_option:t",
    ),
];

static KNOWN: LazyLock<Vec<SystemRelation>> = LazyLock::new(|| {
    let relation = |&(full_name, columns): &(&'static str, &'static str)| {
        let (schema, name) = full_name.split_once('.').unwrap_or(("", full_name));
        let columns = columns.split_whitespace().filter_map(|column| {
            let (name, letter) = column.split_once(':')?;
            Some((name, type_of(letter)))
        });
        let mut columns: Vec<SystemColumn> = columns.collect();
        if schema == "pg_catalog" && columns.iter().any(|(name, _)| *name == "oid") {
            columns.push((OF_RELATION, SqlType::Scalar(DataType::Oid)));
        }
        SystemRelation { schema, name, full_name, columns }
    };
    RELATIONS.iter().map(relation).collect()
});

fn type_of(letter: &str) -> SqlType {
    let scalar = |letter: &str| match letter {
        "o" => DataType::Oid,
        "l" => DataType::BigInt,
        "i" => DataType::Integer,
        "s" => DataType::SmallInt,
        "b" => DataType::Boolean,
        "f" => DataType::Real,
        "n" => DataType::Name,
        "c" => DataType::CatalogChar,
        "z" => DataType::TIMESTAMPTZ,
        _ => DataType::Text,
    };
    let small = letter.to_ascii_lowercase();
    if small == letter { SqlType::Scalar(scalar(letter)) } else { SqlType::Array(scalar(&small)) }
}

/// Whether a column is a vector of PostgreSQL's: written without braces, and counted from 0.
pub(super) fn is_vector(column: &str) -> bool {
    matches!(
        column,
        "indkey" | "indclass" | "indoption" | "indcollation" | "proargtypes" | "tgattr"
    )
}

/// Schema, full name and columns of a relation; without a schema, of one in `pg_catalog`.
pub(super) fn relation(
    schema: Option<&str>,
    name: &str,
) -> Option<(&'static str, &'static str, &'static [SystemColumn])> {
    let schema = schema.unwrap_or("pg_catalog");
    let found = KNOWN.iter().find(|known| known.schema == schema && known.name == name)?;
    Some((found.schema, found.full_name, &found.columns))
}

/// The columns of a relation, by its full name.
fn columns(full_name: &str) -> &'static [SystemColumn] {
    KNOWN.iter().find(|known| known.full_name == full_name).map_or(&[], |known| &known.columns)
}
