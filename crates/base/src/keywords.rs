//! The key words of PostgreSQL 15, as `pg_get_keywords()` tells them.

use crate::value::Value;

/// Code, description, and words; an asterisk: one that needs AS before it as a name of a column.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "U",
        "unreserved",
        "abort absolute access action add admin after aggregate also alter always asensitive \
         assertion assignment at atomic attach attribute backward before begin breadth by \
         cache call called cascade cascaded catalog chain characteristics checkpoint class \
         close cluster columns comment comments commit committed compression configuration \
         conflict connection constraints content continue conversion copy cost csv cube \
         current cursor cycle data database day* deallocate declare defaults deferred definer \
         delete delimiter delimiters depends depth detach dictionary disable discard document \
         domain double drop each enable encoding encrypted enum escape event exclude \
         excluding exclusive execute explain expression extension external family filter* \
         finalize first following force forward function functions generated global granted \
         groups handler header hold hour* identity if immediate immutable implicit import \
         include including increment index indexes inherit inherits inline input insensitive \
         insert instead invoker isolation key label language large last leakproof level \
         listen load local location lock locked logged mapping match matched materialized \
         maxvalue merge method minute* minvalue mode month* move name names new next nfc nfd \
         nfkc nfkd no normalized nothing notify nowait nulls object of off oids old operator \
         option options ordinality others over* overriding owned owner parallel parameter \
         parser partial partition passing password plans policy preceding prepare prepared \
         preserve prior privileges procedural procedure procedures program publication quote \
         range read reassign recheck recursive ref referencing refresh reindex relative \
         release rename repeatable replace replica reset restart restrict return returns \
         revoke role rollback rollup routine routines rows rule savepoint schema schemas \
         scroll search second* security sequence sequences serializable server session set \
         sets share show simple skip snapshot sql stable standalone start statement \
         statistics stdin stdout storage stored strict strip subscription support sysid \
         system tables tablespace temp template temporary text ties transaction transform \
         trigger truncate trusted type types uescape unbounded uncommitted unencrypted \
         unknown unlisten unlogged until update vacuum valid validate validator value \
         varying* version view views volatile whitespace within* without* work wrapper write \
         xml year* yes zone",
    ),
    (
        "C",
        "unreserved (cannot be function or type name)",
        "between bigint bit boolean char* character* coalesce dec decimal exists extract \
         float greatest grouping inout int integer interval least national nchar none \
         normalize nullif numeric out overlay position precision* real row setof smallint \
         substring time timestamp treat trim values varchar xmlattributes xmlconcat \
         xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize \
         xmltable",
    ),
    (
        "T",
        "reserved (can be function or type name)",
        "authorization binary collation concurrently cross current_schema freeze full ilike \
         inner is isnull* join left like natural notnull* outer overlaps* right similar \
         tablesample verbose",
    ),
    (
        "R",
        "reserved",
        "all analyse analyze and any array* as* asc asymmetric both case cast check collate \
         column constraint create* current_catalog current_date current_role current_time \
         current_timestamp current_user default deferrable desc distinct do else end except* \
         false fetch* for* foreign from* grant* group* having* in initially intersect* into* \
         lateral leading limit* localtime localtimestamp not null offset* on* only or order* \
         placing primary references returning* select session_user some symmetric table then \
         to* trailing true union* unique user using variadic when where* window* with*",
    ),
];

/// Whether a word may be the name of anything without quotes: it is no key word, or one that is not
/// reserved for any use.
pub fn may_be_name(word: &str) -> bool {
    let reserved = WORDS.iter().filter(|(code, ..)| *code != "U");
    let mut words = reserved.flat_map(|(_, _, words)| words.split(' '));
    !words.any(|known| known.trim_end_matches('*') == word)
}

/// Their rows: word, code, whether it may be a bare label, and both in words.
pub fn keywords() -> Vec<Vec<Value>> {
    let text = |text: &str| Value::Text(text.to_owned());
    let row = |code: &str, told: &str, written: &str| {
        let word = written.trim_end_matches('*');
        let is_bare = word == written;
        let label = if is_bare { "can be bare label" } else { "requires AS" };
        vec![text(word), text(code), Value::Bool(is_bare), text(told), text(label)]
    };
    let of = |(code, told, words): &(&str, &str, &str)| {
        words.split(' ').map(|word| row(code, told, word)).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = WORDS.iter().flat_map(of).collect();
    rows.sort_by(|a, b| a[0].to_string().cmp(&b[0].to_string()));
    rows
}
