//! Repeats one row or key operation, to count its instructions:
//! `valgrind --tool=callgrind target/release/examples/row_key_cost encode 100000`, twice with
//! different counts; the difference divided by that of the counts is the cost of one.

use hotrow_base::datum::Datum;
use hotrow_base::ids::ColumnId;
use hotrow_base::key::{KeyBuffer, KeyLayout, KeyPart, hash, head};
use hotrow_base::row::{ColumnType, Field, RowLayout, read_field};
use hotrow_base::types::DataType;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;

/// A key of warehouse, district and order, as TPC-C has it, and a balance.
const COLUMNS: [DataType; 4] = [
    DataType::Integer,
    DataType::SmallInt,
    DataType::Integer,
    DataType::Numeric { precision: 12, scale: 2 },
];

/// An order line, as TPC-C has it; the moment of delivery is NULL at first.
const LINE: [DataType; 10] = [
    DataType::Integer,
    DataType::SmallInt,
    DataType::Integer,
    DataType::SmallInt,
    DataType::Integer,
    DataType::Integer,
    DataType::TIMESTAMPTZ,
    DataType::SmallInt,
    DataType::Numeric { precision: 6, scale: 2 },
    DataType::Char(24),
];
const LINE_TEXT: &[u8] = b"abcdefghijklmnopqrstuvwx";

/// Reused: a key, a heap, a row.
type Buffers = (KeyBuffer, Vec<u8>, Vec<u64>);

struct Setting {
    rows: RowLayout,
    keys: KeyLayout,
    key_fields: Vec<Field>,
    values: [Datum; 4],
    row: Vec<AtomicU64>,
    key: KeyBuffer,
    lines: RowLayout,
    line_values: [Datum; 10],
    line: Vec<AtomicU64>,
    texts: RowLayout,
    text: Vec<AtomicU64>,
}

fn setting() -> Setting {
    let column = |data_type| ColumnType { data_type, nullable: false };
    let part = |data_type| KeyPart { data_type, nullable: false, descending: false };
    let rows = RowLayout::new(&COLUMNS.map(column)).expect("small");
    let keys = KeyLayout::new(&[COLUMNS[0], COLUMNS[1], COLUMNS[2]].map(part)).expect("short");
    let values = [Datum::int(7), Datum::int(3), Datum::int(3_001), Datum::numeric(1_000)];
    let (mut words, mut key) = (vec![], KeyBuffer::new());
    rows.build(&values, &[], &mut words).expect("in range");
    keys.encode(&values[..3], &[], &mut key).expect("short");
    let key_fields = rows.fields()[..3].to_vec();
    let row = shared(&words);
    let nullable = |data_type| data_type == DataType::TIMESTAMPTZ;
    let lines = LINE.map(|data_type| ColumnType { data_type, nullable: nullable(data_type) });
    let lines = RowLayout::new(&lines).expect("small");
    let mut line_values = [Datum::int(7); 10];
    line_values[6] = Datum::NULL;
    line_values[8] = Datum::numeric(1_000);
    line_values[9] = Datum::range(0, LINE_TEXT.len() as u32);
    lines.build(&line_values, LINE_TEXT, &mut words).expect("in range");
    let line = shared(&words);
    let text = ColumnType { data_type: DataType::Text, nullable: false };
    let texts = RowLayout::new(&[text]).expect("small");
    let long = LINE_TEXT.repeat(2);
    texts.build(&[Datum::range(0, 38)], &long, &mut words).expect("short");
    let text = shared(&words);
    Setting { rows, keys, key_fields, values, row, key, lines, line_values, line, texts, text }
}

fn shared(words: &[u64]) -> Vec<AtomicU64> {
    words.iter().map(|&word| AtomicU64::new(word)).collect()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let operation = arguments.next().unwrap_or_else(|| "encode".to_owned());
    let count: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let setting = &setting();
    let mut buffers: Buffers = Default::default();
    let run: fn(&Setting, &mut Buffers) -> u64 = match operation.as_str() {
        "encode" => encode,
        "from_row" => from_row,
        "matches" => matches,
        "hash" => |s, _| hash(black_box(&s.key)),
        "head" => |s, _| head(black_box(&s.key)),
        "read" => read,
        "read_int" => |s, _| black_box(s.key_fields[1]).read_int(s.row.as_slice()) as u64,
        "read_text" => read_text,
        "read_long_text" => read_long_text,
        "write" => write,
        "build_line" => build_line,
        "build" => build,
        _ => |_, _| 0,
    };
    let total = (0..count).fold(0, |total: u64, _| {
        total.wrapping_add(run(black_box(setting), black_box(&mut buffers)))
    });
    println!("{operation} x {count}: {total}");
}

fn encode(setting: &Setting, buffers: &mut Buffers) -> u64 {
    buffers.0.clear();
    let encoded = setting.keys.encode(&setting.values[..3], &[], &mut buffers.0);
    u64::from(encoded.is_ok())
}

fn from_row(setting: &Setting, buffers: &mut Buffers) -> u64 {
    buffers.0.clear();
    let row = setting.row.as_slice();
    u64::from(setting.keys.encode_from_row(&setting.key_fields, row, &mut buffers.0).is_ok())
}

fn matches(setting: &Setting, _: &mut Buffers) -> u64 {
    let row = setting.row.as_slice();
    u64::from(setting.keys.matches_row(&setting.key_fields, row, &setting.key))
}

fn read(setting: &Setting, buffers: &mut Buffers) -> u64 {
    let field = setting.rows.field(ColumnId(3));
    read_field(field, setting.row.as_slice(), &mut buffers.1).as_numeric() as u64
}

fn read_text(setting: &Setting, buffers: &mut Buffers) -> u64 {
    let field = setting.lines.field(ColumnId(9));
    buffers.1.clear();
    u64::from(read_field(field, setting.line.as_slice(), &mut buffers.1).as_range().len)
}

fn read_long_text(setting: &Setting, buffers: &mut Buffers) -> u64 {
    let field = setting.texts.field(ColumnId(0));
    buffers.1.clear();
    u64::from(read_field(field, setting.text.as_slice(), &mut buffers.1).as_range().len)
}

fn write(setting: &Setting, _: &mut Buffers) -> u64 {
    let (field, row) = (setting.rows.field(ColumnId(3)), setting.row.as_slice());
    let store = |i: usize, word| row[i].store(word, std::sync::atomic::Ordering::Relaxed);
    let written = setting.rows.write_field(field, Datum::numeric(5), &[], row, store);
    u64::from(written.is_ok())
}

fn build(setting: &Setting, buffers: &mut Buffers) -> u64 {
    u64::from(setting.rows.build(&setting.values, &[], &mut buffers.2).is_ok())
}

fn build_line(setting: &Setting, buffers: &mut Buffers) -> u64 {
    u64::from(setting.lines.build(&setting.line_values, LINE_TEXT, &mut buffers.2).is_ok())
}
