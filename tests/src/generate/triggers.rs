//! Triggers: those of t write to u, h and l, those of u to h and l, those of h to l alone, so that
//! none fires itself.

use rand::rngs::StdRng;

use super::{Kind, Writer};

/// What a trigger's procedure may say of a row before it is written; numbers are drawn.
fn before_body(writer: &mut Writer<'_>) -> String {
    let number = writer.one_of(6);
    match writer.one_of(5) {
        0 => format!("NEW.a := (NEW.a + {number}) % 6;"),
        1 => format!("IF NEW.a = {number} THEN RETURN NULL; END IF;"),
        2 => format!("IF NEW.a = {number} THEN RAISE EXCEPTION 'not %', NEW.a; END IF;"),
        3 => "NEW.a := coalesce((SELECT max(u.v) FROM u WHERE u.k = NEW.id), NEW.a);".to_owned(),
        _ => "NEW.s := coalesce(NEW.s, 'none') || TG_OP;".to_owned(),
    }
}

/// What one of t does after a row was written.
fn after_body(writer: &mut Writer<'_>) -> String {
    let number = writer.one_of(6);
    match writer.one_of(5) {
        0 => "UPDATE u SET v = (coalesce(u.v, 0) + 1) % 6 WHERE u.k = row.id AND u.n = 0;".into(),
        1 => "UPDATE h SET v = (h.v + row.a) % 6 WHERE h.id = row.a;".to_owned(),
        2 => format!("INSERT INTO u VALUES (row.id, {number}, row.a) ON CONFLICT DO NOTHING;"),
        3 => format!("DELETE FROM u WHERE u.k = row.id AND u.v = {number};"),
        _ => format!(
            "BEGIN INSERT INTO h VALUES (row.id, row.a, 0);\n\
             EXCEPTION WHEN unique_violation THEN\n\
             UPDATE h SET next = {number} WHERE h.id = row.id; END;"
        ),
    }
}

/// Triggers of the tables: each is there or not, as chance has it.
pub(super) fn triggers(random: &mut StdRng) -> String {
    let mut writer = Writer::new(random, Kind::One);
    let mut text = String::new();
    let mut create = |name: &str, head: &str, declared: &str, body: &str| {
        text.push_str(&format!(
            "CREATE FUNCTION {name}() RETURNS trigger AS $$ {declared} BEGIN\n{body}\n\
             END $$ LANGUAGE plpgsql;\n\
             CREATE TRIGGER {name} {head} EXECUTE FUNCTION {name}();\n"
        ));
    };
    if writer.one_of(2) == 0 {
        let body = format!("{}\nRETURN NEW;", before_body(&mut writer));
        let of = ["INSERT OR UPDATE", "INSERT", "UPDATE OF a"][writer.one_of(3) as usize];
        create("before_t", &format!("BEFORE {of} ON t FOR EACH ROW"), "", &body);
    }
    if writer.one_of(2) == 0 {
        let of = ["INSERT OR UPDATE OR DELETE", "UPDATE", "DELETE"][writer.one_of(3) as usize];
        let when = match writer.one_of(3) {
            0 if of == "UPDATE" => "WHEN (OLD.a IS DISTINCT FROM NEW.a)",
            _ => "",
        };
        let body = format!(
            "IF TG_OP = 'DELETE' THEN row := OLD; ELSE row := NEW; END IF;\n{}\nRETURN NULL;",
            after_body(&mut writer)
        );
        let head = format!("AFTER {of} ON t FOR EACH ROW {when}");
        create("after_t", &head, "DECLARE row t;", &body);
    }
    if writer.one_of(3) == 0 {
        let body = "UPDATE h SET v = (h.v + coalesce(NEW.v, 1)) % 6 WHERE h.id = NEW.k;\n\
                    RETURN NULL;";
        create("after_u", "AFTER INSERT OR UPDATE ON u FOR EACH ROW", "", body);
    }
    if writer.one_of(3) == 0 {
        let body = "INSERT INTO l SELECT count(*), max(fresh.v) FROM fresh; RETURN NULL;";
        let head = "AFTER UPDATE ON u REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT";
        create("whole_u", head, "", body);
    }
    if writer.one_of(3) == 0 {
        let body = "IF OLD.v = 3 THEN RETURN NULL; END IF;\n\
                    UPDATE l SET n = OLD.v; RETURN OLD;";
        create("before_h", "BEFORE DELETE ON h FOR EACH ROW", "", body);
    }
    text
}
