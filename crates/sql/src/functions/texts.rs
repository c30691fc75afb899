//! Functions of texts, and of patterns in them.

use hotrow_query::{DissectedFunction as D, HostFunction as H, PatternFunction as P};
use hotrow_transaction::program::{Function as F, TextFunction as R};

use super::row::Evaluation::{Host, Program, Values};
use super::row::{FunctionGroup, FunctionRow, ValueForm as V, Volatility, functions};
use super::signature::{ANY, BIGINT, BOOLEAN, BYTEA, INTEGER, TEXT, TEXTS as TEXTS_, many, opt};

pub(super) const TEXTS: FunctionGroup = functions! { "Texts":
    length | char_length | character_length(TEXT) -> INTEGER, Immutable, Program(F::Length),
        "the number of characters", "length('Gruß')", "4";
    length(BYTEA) -> INTEGER, Immutable, Program(F::OctetLength),
        "the number of bytes", "length('\\x0102'::bytea)", "2";
    octet_length(TEXT) -> INTEGER, Immutable, Program(F::OctetLength),
        "the number of bytes", "octet_length('Gruß')", "5";
    octet_length(BYTEA) -> INTEGER, Immutable, Program(F::OctetLength),
        "the number of bytes", "octet_length('\\x0102'::bytea)", "2";
    lower(TEXT) -> TEXT, Immutable, Program(F::Lower),
        "in lower case", "lower('ABC')", "abc";
    upper(TEXT) -> TEXT, Immutable, Program(F::Upper),
        "in upper case", "upper('abc')", "ABC";
    substring | substr(TEXT, INTEGER, opt(INTEGER)) -> TEXT, Immutable, Program(F::Substring),
        "from a place on, which counts from 1, so many characters", "substring('abcdef', 2, 3)",
        "bcd";
    substring | substr(BYTEA, INTEGER, opt(INTEGER)) -> BYTEA, Immutable, Program(F::Substring),
        "from a place on, which counts from 1, so many bytes. Also `substring(a FROM 2 FOR 3)`",
        "substring('\\x01020304'::bytea, 2, 2)", "\\x0203";
    overlay(TEXT, TEXT, INTEGER, opt(INTEGER)) -> TEXT, Immutable, Values(V::Overlay),
        "with a part replaced: so many characters from a place on; as many as are new unless told",
        "overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4)", "Thomas";
    left(TEXT, INTEGER) -> TEXT, Immutable, Program(F::Left),
        "so many characters from the left; negative: all but so many", "left('abcdef', 2)", "ab";
    right(TEXT, INTEGER) -> TEXT, Immutable, Program(F::Right),
        "so many characters from the right; negative: all but so many", "right('abcdef', 2)", "ef";
    strpos(TEXT, TEXT) -> INTEGER, Immutable, Program(F::Position),
        "where the second first stands in the first; 0: nowhere. Also `position(b IN a)`",
        "strpos('abcdef', 'cd')", "3";
    btrim | trim(TEXT, opt(TEXT)) -> TEXT, Immutable, Program(F::Trim),
        "without these characters at both ends; else without spaces", "btrim('  ab ')", "ab";
    ltrim(TEXT, opt(TEXT)) -> TEXT, Immutable, Program(F::LTrim),
        "without these characters at its beginning; else without spaces", "ltrim('xxab', 'x')",
        "ab";
    rtrim(TEXT, opt(TEXT)) -> TEXT, Immutable, Program(F::RTrim),
        "without these characters at its end; else without spaces", "rtrim('abyx', 'xy')", "ab";
    lpad(TEXT, INTEGER, opt(TEXT)) -> TEXT, Immutable, Program(F::LPad),
        "filled up from the left, or cut, to so many characters", "lpad('7', 3, '0')", "007";
    rpad(TEXT, INTEGER, opt(TEXT)) -> TEXT, Immutable, Program(F::RPad),
        "filled up to the right, or cut, to so many characters", "rpad('7', 3, '.')", "7..";
    replace(TEXT, TEXT, TEXT) -> TEXT, Immutable, Program(F::Replace),
        "with the third wherever the second stood", "replace('abab', 'b', 'c')", "acac";
    repeat(TEXT, INTEGER) -> TEXT, Immutable, Program(F::Repeat),
        "so many times", "repeat('ab', 3)", "ababab";
    reverse(TEXT) -> TEXT, Immutable, Program(F::Reverse),
        "the last character first", "reverse('abc')", "cba";
    concat_ws(TEXT, many(ANY)) -> TEXT, Immutable, Values(V::Concat(F::ConcatWs)),
        "the others as one text, with the first between them; NULL is left out",
        "concat_ws(', ', 'a', NULL, 1)", "a, 1";
    concat(many(ANY)) -> TEXT, Immutable, Values(V::Concat(F::Concat)),
        "one behind the other, NULL left out", "concat('a', NULL, 1)", "a1";
    format(TEXT, many(ANY)) -> TEXT, Immutable, Values(V::Format),
        "with values for `%s`, names for `%I` and literals for `%L`", "format('%s of %s', 1, 'x')",
        "1 of x";
    translate(TEXT, TEXT, TEXT) -> TEXT, Immutable, Program(F::Recode(R::Translate)),
        "with each character of the second as that at its place in the third, which may lack it",
        "translate('12345', '143', 'ax')", "a2x5";
    starts_with(TEXT, TEXT) -> BOOLEAN, Immutable, Program(F::Recode(R::StartsWith)),
        "whether it begins with the second", "starts_with('alphabet', 'alph')", "true";
    initcap(TEXT) -> TEXT, Immutable, Program(F::Recode(R::InitCap)),
        "words with capitals", "initcap('hi THOMAS')", "Hi Thomas";
    chr(INTEGER) -> TEXT, Immutable, Program(F::Recode(R::Character)),
        "the character with a number", "chr(65)", "A";
    ascii(TEXT) -> INTEGER, Immutable, Program(F::Recode(R::Code)),
        "the number of the first character", "ascii('x')", "120";
    to_hex(INTEGER) -> TEXT, Immutable, Program(F::Recode(R::Hex32)),
        "in hexadecimal", "to_hex(255)", "ff";
    to_hex(BIGINT) -> TEXT, Immutable, Program(F::Recode(R::Hex64)),
        "in hexadecimal", "to_hex(255::bigint)", "ff";
    bit_length(TEXT) -> INTEGER, Immutable, Program(F::Recode(R::BitLength)),
        "eight times its bytes", "bit_length('jose')", "32";
    bit_length(BYTEA) -> INTEGER, Immutable, Program(F::Recode(R::BitLength)),
        "eight times its bytes", "bit_length('\\x0102'::bytea)", "16";
    md5(TEXT) -> TEXT, Immutable, Program(F::Recode(R::Md5)),
        "its digest, in hexadecimal", "md5('abc')", "900150983cd24fb0d6963f7d28e17f72";
    md5(BYTEA) -> TEXT, Immutable, Program(F::Recode(R::Md5)),
        "its digest, in hexadecimal", "md5('abc'::bytea)", "900150983cd24fb0d6963f7d28e17f72";
    sha224(BYTEA) -> BYTEA, Immutable, Program(F::Recode(R::Sha224)),
        "its digest", "length(sha224('abc'::bytea))", "28";
    sha256(BYTEA) -> BYTEA, Immutable, Program(F::Recode(R::Sha256)),
        "its digest", "length(sha256('abc'::bytea))", "32";
    sha384(BYTEA) -> BYTEA, Immutable, Program(F::Recode(R::Sha384)),
        "its digest", "length(sha384('abc'::bytea))", "48";
    sha512(BYTEA) -> BYTEA, Immutable, Program(F::Recode(R::Sha512)),
        "its digest", "length(sha512('abc'::bytea))", "64";
    digest(TEXT, TEXT) -> BYTEA, Immutable, Program(F::Recode(R::Digest)),
        "by the digest of this name: `md5`, `sha1`, `sha224`, `sha256`, `sha384`, `sha512`",
        "encode(digest('abc', 'sha1'), 'hex')", "a9993e364706816aba3e25717850c26c9cd0d89d";
    digest(BYTEA, TEXT) -> BYTEA, Immutable, Program(F::Recode(R::Digest)),
        "by the digest of this name: `md5`, `sha1`, `sha224`, `sha256`, `sha384`, `sha512`",
        "length(digest('abc'::bytea, 'sha384'))", "48";
    hmac(TEXT, TEXT, TEXT) -> BYTEA, Immutable, Program(F::Recode(R::Hmac)),
        "the code of data with a key, by the digest of this name",
        "length(hmac('data', 'key', 'sha256'))", "32";
    hmac(BYTEA, BYTEA, TEXT) -> BYTEA, Immutable, Program(F::Recode(R::Hmac)),
        "the code of data with a key, by the digest of this name",
        "length(hmac('data'::bytea, 'key'::bytea, 'md5'))", "16";
    encode(BYTEA, TEXT) -> TEXT, Immutable, Program(F::Recode(R::Encode)),
        "as a text: `hex`, `base64` or `escape`", "encode('abc'::bytea, 'base64')", "YWJj";
    decode(TEXT, TEXT) -> BYTEA, Immutable, Program(F::Recode(R::Decode)),
        "of a text: `hex`, `base64` or `escape`", "decode('YWJj', 'base64') = 'abc'::bytea", "true";
    get_byte(BYTEA, INTEGER) -> INTEGER, Immutable, Program(F::Recode(R::GetByte)),
        "its byte with a number, from 0", "get_byte('abc'::bytea, 1)", "98";
    split_part(TEXT, TEXT, INTEGER) -> TEXT, Immutable, Host(H::SplitPart),
        "the part of that number, between separators; negative: from the end",
        "split_part('a,b,c', ',', 2)", "b";
    quote_ident(TEXT) -> TEXT, Immutable, Host(H::QuoteIdent),
        "as a name in SQL", "quote_ident('Total')", "\"Total\"";
    quote_literal(ANY) -> TEXT, Immutable, Values(V::QuoteLiteral),
        "as a literal in SQL", "quote_literal('it''s')", "'it''s'";
    quote_nullable(ANY) -> TEXT, Immutable, Values(V::QuoteNullable),
        "as a literal in SQL; of NULL the word NULL", "quote_nullable(NULL)", "NULL";
    pg_size_pretty(BIGINT) -> TEXT, Immutable, Host(H::SizePretty),
        "a number of bytes with a unit", "pg_size_pretty(20480)", "20 kB";
    pg_size_bytes(TEXT) -> BIGINT, Immutable, Host(H::Dissected(D::Bytes)),
        "a size with a unit as a number of bytes", "pg_size_bytes('1.5 kB')", "1536";
    parse_ident(TEXT, opt(BOOLEAN)) -> TEXTS_, Immutable, Host(H::Dissected(D::Name)),
        "the parts of a name in SQL; the last argument: whether nothing else may follow",
        "parse_ident('Shop.\"Item\"')", "{shop,Item}";
    unistr(TEXT) -> TEXT, Immutable, Host(H::Dissected(D::Unescaped)),
        "with `\\XXXX`, `\\+XXXXXX`, `\\uXXXX` and `\\UXXXXXXXX` as characters",
        "unistr('\\0041b')", "Ab";
};

pub(super) const PATTERNS: FunctionGroup = functions! { "Regular expressions":
    regexp_replace(TEXT, TEXT, TEXT, opt(TEXT)) -> TEXT, Immutable, Host(H::Pattern(P::Replace)),
        "with the third where the pattern matches; flags: `g` everywhere, `i` in any case",
        "regexp_replace('a1b22', '[0-9]+', '#', 'g')", "a#b#";
    regexp_replace(TEXT, TEXT, TEXT, INTEGER, opt(INTEGER), opt(TEXT)) -> TEXT, Immutable,
        Host(H::Pattern(P::Replace)),
        "with the third where the pattern matches from a place on: that match by number, 0 all",
        "regexp_replace('a1b2c3', '[0-9]', '#', 3, 2)", "a1b2c#";
    regexp_like(TEXT, TEXT, opt(TEXT)) -> BOOLEAN, Immutable, Host(H::Pattern(P::Like)),
        "whether the pattern matches somewhere, as `~`", "regexp_like('abc', '^A.c$', 'i')",
        "true";
    regexp_match(TEXT, TEXT, opt(TEXT)) -> TEXTS_, Immutable, Host(H::Pattern(P::Match)),
        "the groups of the first match, or the whole of it",
        "array_to_string(regexp_match('ab12', '([a-z]+)([0-9]+)'), ',')", "ab,12";
    regexp_split_to_array(TEXT, TEXT, opt(TEXT)) -> TEXTS_, Immutable,
        Host(H::Pattern(P::SplitToArray)),
        "the parts between matches",
        "array_to_string(regexp_split_to_array('a, b;c', '[,;] *'), '|')", "a|b|c";
    regexp_count(TEXT, TEXT, opt(INTEGER), opt(TEXT)) -> INTEGER, Immutable,
        Host(H::Pattern(P::Count)),
        "how often the pattern matches, from a place on", "regexp_count('a1b22', '[0-9]', 3)",
        "2";
    regexp_instr(TEXT, TEXT, opt(INTEGER), opt(INTEGER), opt(INTEGER), opt(TEXT), opt(INTEGER))
        -> INTEGER, Immutable, Host(H::Pattern(P::Place)),
        "where a match begins, 0: nowhere. From a place on; number of the match; 1: behind its \
         end; flags; number of a group",
        "regexp_instr('a1b22', '[0-9]+', 1, 2)", "4";
    regexp_substr(TEXT, TEXT, opt(INTEGER), opt(INTEGER), opt(TEXT), opt(INTEGER)) -> TEXT,
        Immutable, Host(H::Pattern(P::Part)),
        "a match. From a place on; its number; flags; number of a group",
        "regexp_substr('a1b22', '[0-9]+', 1, 2)", "22";
    substring(TEXT, TEXT) -> TEXT, Immutable, Host(H::Pattern(P::Substring)),
        "the first group of a pattern, or its match. Also `substring(a FROM b)`",
        "substring('ab12' FROM '[0-9]+')", "12";
    substring(TEXT, TEXT, TEXT) -> TEXT, Immutable, Host(H::Pattern(P::SimilarSubstring)),
        "the part that a pattern of SIMILAR TO marks. Also `substring(a SIMILAR b ESCAPE c)`",
        "substring('ab12' SIMILAR '%#\"[0-9]+#\"' ESCAPE '#')", "12";
    similar_to_escape(TEXT, opt(TEXT)) -> TEXT, Immutable, Host(H::Pattern(P::SimilarToEscape)),
        "the regular expression of a pattern of SIMILAR TO, whose `ESCAPE` is the second",
        "similar_to_escape('(a|b)%')", "^(?:(?:a|b).*)$";
};
