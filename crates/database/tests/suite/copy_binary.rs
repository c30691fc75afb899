//! COPY in PostgreSQL's binary format: what it writes it reads, and what is no such file is refused
//! as PostgreSQL 15 refuses it.

use hotrow::{Config, Database, Error, Session};

const COPY: &str = "COPY t FROM STDIN (FORMAT binary)";

fn database() -> Database {
    let entry = hotrow::engines().iter().find(|entry| entry.locks_as_it_goes);
    let entry = entry.expect("there is such an engine");
    let config = Config::default().engine(entry.name).threads(entry.threads_near(2));
    let db = Database::open_in_memory(config.memory_bytes(64 << 20)).expect("a configuration");
    db.session().execute("CREATE TABLE t (a int, b text)").expect("a definition");
    db
}

fn header(flags: i32, extension: i32) -> Vec<u8> {
    [&b"PGCOPY\n\xff\r\n\0"[..], &flags.to_be_bytes(), &extension.to_be_bytes()].concat()
}

fn row(cells: &[Option<&[u8]>]) -> Vec<u8> {
    let mut row = (cells.len() as i16).to_be_bytes().to_vec();
    for cell in cells {
        row.extend(cell.map_or(-1, |cell| cell.len() as i32).to_be_bytes());
        row.extend_from_slice(cell.unwrap_or_default());
    }
    row
}

fn one() -> Vec<u8> {
    row(&[Some(&7_i32.to_be_bytes()), Some(b"x")])
}

/// Gives its bytes a few at a time.
struct Drops<'a>(&'a [u8], usize);

impl std::io::Read for Drops<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(self.0.len()).min(into.len());
        let (now, later) = self.0.split_at(count);
        into[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

fn count(session: &Session) -> i64 {
    let mut result = session.execute("SELECT count(*) FROM t").expect("it is there");
    result.remove(0).rows.one().expect("a number")
}

#[test]
fn all_types_come_back() -> Result<(), Error> {
    let db = database();
    let session = db.session();
    let columns = "id int PRIMARY KEY, o boolean, s smallint, l bigint, r real, \
                   d double precision, n numeric(12,4), t text, v varchar(9), c char(4), \
                   y bytea, ts timestamp, \
                   tz timestamptz, dt date, i interval, u uuid, j json, b jsonb";
    session.execute(&format!("CREATE TABLE one ({columns}); CREATE TABLE two ({columns})"))?;
    session.execute(
        "INSERT INTO one VALUES (1, true, -3, 4000000000, 1.5, -0.1, -12345.6789, 'it''s', 'äö', \
         'ab', '\\x00ff', '2026-11-23 10:00:00.5', '1999-12-31 23:59:59+00', '0044-03-15 BC', \
         '1 mon -2 days 03:04:05.6', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\" : 1}', \
         '{\"a\": [1.50]}'); INSERT INTO one (id) VALUES (2)",
    )?;
    let mut file = Vec::new();
    assert_eq!(session.copy_out("COPY one TO STDOUT (FORMAT binary)", &mut file)?, 2);
    for size in [1, 7, 1 << 16] {
        session.execute("TRUNCATE two")?;
        assert_eq!(session.copy_in("COPY two FROM STDIN BINARY", Drops(&file, size))?, 2);
        let mut again = Vec::new();
        session.copy_out("COPY two TO STDOUT (FORMAT binary)", &mut again)?;
        assert_eq!(again, file);
        let same = "SELECT count(*) FROM one JOIN two ON one.id = two.id AND one.n = two.n \
                    AND one.i = two.i AND one.b = two.b AND one.j::text = two.j::text";
        assert_eq!(session.execute(same)?.remove(0).rows.one::<i64>()?, 1);
    }
    let mut empty = Vec::new();
    let nothing = "COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)";
    session.copy_out(nothing, &mut empty)?;
    assert_eq!(empty, [header(0, 0), vec![0xff, 0xff]].concat());
    Ok(())
}

#[test]
fn files_are_taken_or_refused_whole() {
    let db = database();
    let session = db.session();
    let file = |parts: &[&[u8]]| parts.concat();
    let head = header(0, 0);
    let int = 7_i32.to_be_bytes();
    for taken in [
        file(&[&head, &one(), b"\xff\xff"]),
        file(&[&head, &one()]),
        file(&[&header(3, 0), &one()]),
        file(&[&header(0, 4), b"abcd", &one()]),
    ] {
        for size in [1, 5, 1000] {
            let before = count(&session);
            assert_eq!(session.copy_in(COPY, Drops(&taken, size)).expect("a file"), 1);
            assert_eq!(count(&session), before + 1);
        }
    }
    let before = count(&session);
    for (refused, code, message, context) in [
        (vec![], "22P04", "COPY file signature not recognized", ""),
        (b"1,x\n2,y\n".to_vec(), "22P04", "COPY file signature not recognized", ""),
        (head[..13].to_vec(), "22P04", "invalid COPY file header (missing flags)", ""),
        (head[..17].to_vec(), "22P04", "invalid COPY file header (missing length)", ""),
        (header(0, -4), "22P04", "invalid COPY file header (missing length)", ""),
        (header(0, 9), "22P04", "invalid COPY file header (wrong length)", ""),
        (header(1 << 16, 0), "22P04", "invalid COPY file header (WITH OIDS)", ""),
        (header(1 << 20, 0), "22P04", "unrecognized critical flags in COPY file header", ""),
        (
            file(&[&head, &row(&[Some(&int)])]),
            "22P04",
            "row field count is 1, expected 2",
            ", line 1",
        ),
        (file(&[&head, b"\xff\xfe"]), "22P04", "row field count is -2, expected 2", ", line 1"),
        (
            file(&[&head, &one(), b"\xff\xffx"]),
            "22P04",
            "received copy data after EOF marker",
            ", line 2",
        ),
        (file(&[&head, b"\0\x02\xff\xff\xff\xfe"]), "22P04", "invalid field size", ", column a"),
        (
            file(&[&head, b"\0\x02\x40\0\0\0"]),
            "54000",
            "a row of COPY is longer than 16777216 bytes",
            ", column a",
        ),
        (
            file(&[&head, &one(), &one()[..11]]),
            "22P04",
            "unexpected EOF in COPY data",
            "line 1, column b",
        ),
        (file(&[&head, b"\0"]), "22P04", "unexpected EOF in COPY data", ""),
        (
            file(&[&head, &one(), &row(&[Some(b"abc"), Some(b"x")])]),
            "22P03",
            "incorrect binary data format",
            "COPY t, line 2, column a",
        ),
        (
            file(&[&head, &row(&[Some(&int), Some(b"\xff")])]),
            "22021",
            "invalid byte sequence for encoding \"UTF8\"",
            "line 1, column b",
        ),
        (
            file(&[&head, &row(&[Some(&int), Some(b"a\0")])]),
            "22021",
            "invalid byte sequence for encoding \"UTF8\"",
            "line 1, column b",
        ),
    ] {
        for size in [1, 1000] {
            let error = session.copy_in(COPY, Drops(&refused, size)).expect_err(message);
            let error = error.as_sql().expect("an error of SQL");
            assert_eq!((error.code(), error.message.as_str()), (code, message));
            assert!(error.context.as_ref().is_some_and(|told| told.contains(context)), "{error:?}");
        }
    }
    assert_eq!(count(&session), before, "nothing of them is left");
}

#[test]
fn options_of_lines_are_refused() {
    let db = database();
    let session = db.session();
    for (options, code) in [
        ("DELIMITER ','", "42601"),
        ("NULL 'x'", "42601"),
        ("HEADER", "0A000"),
        ("QUOTE 'x'", "0A000"),
        ("FORCE_NULL (a)", "0A000"),
    ] {
        let text = format!("COPY t FROM STDIN (FORMAT binary, {options})");
        let error = session.copy_in(&text, &[][..]).expect_err(options);
        assert_eq!(error.sqlstate(), Some(code), "{options}");
    }
    let copy = "COPY t FROM STDIN (FORMAT binary, ENCODING 'utf8', FREEZE)";
    let file = [header(0, 0), one()].concat();
    assert_eq!(session.copy_in(copy, file.as_slice()).expect("a file"), 1);
}
