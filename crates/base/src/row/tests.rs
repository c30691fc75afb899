use super::bytes::fit_characters;
use super::*;
use crate::datum::Datum;
use crate::ids::ColumnId;
use crate::plain::{Plain, data_type, plain};
use crate::types::DataType;
use proptest::collection::vec;
use proptest::prelude::*;

fn column(data_type: DataType, nullable: bool) -> ColumnType {
    ColumnType { data_type, nullable }
}

fn layout(columns: &[ColumnType]) -> RowLayout {
    RowLayout::new(columns).expect("small enough")
}

/// Columns, a row of them, and changes to some of its columns.
type Case = (Vec<ColumnType>, Vec<Plain>, Vec<(usize, Plain)>);

fn case() -> impl Strategy<Value = Case> {
    let columns = vec((data_type(), any::<bool>()).prop_map(|(t, n)| column(t, n)), 1..90);
    columns.prop_flat_map(|columns| {
        let row = columns
            .iter()
            .map(|&column| plain(column.data_type, column.nullable))
            .collect::<Vec<_>>();
        let change = (0..columns.len()).prop_flat_map({
            let columns = columns.clone();
            move |i| (Just(i), plain(columns[i].data_type, columns[i].nullable))
        });
        (Just(columns), row, vec(change, 0..12))
    })
}

fn build(layout: &RowLayout, values: &[Plain]) -> Vec<u64> {
    let (mut heap, mut out) = (vec![], vec![7; 3]);
    let datums: Vec<_> = values.iter().map(|value| value.datum(&mut heap)).collect();
    layout.build(&datums, &heap, &mut out).expect("values are in range");
    out
}

fn read_all<W: Words + ?Sized>(layout: &RowLayout, row: &W) -> Vec<Plain> {
    (0..layout.columns().len()).map(|i| Plain::read(layout, row, i)).collect()
}

proptest! {
    #[test]
    fn what_was_built_is_read((columns, values, _) in case()) {
        let layout = layout(&columns);
        let row = build(&layout, &values);
        prop_assert_eq!(read_all(&layout, row.as_slice()), values.clone());
        let shared: Vec<AtomicU64> = row.iter().map(|&word| AtomicU64::new(word)).collect();
        prop_assert_eq!(read_all(&layout, shared.as_slice()), values);
    }

    #[test]
    fn updates_in_place_equal_a_rebuild((columns, values, changes) in case()) {
        let layout = layout(&columns);
        let row = build(&layout, &values);
        let (mut heap, mut expected) = (vec![], values);
        let mut datums = vec![];
        let mut in_place = row.clone();
        for (i, value) in &changes {
            let datum = value.datum(&mut heap);
            let id = ColumnId(*i as u16);
            let cells = Cell::from_mut(in_place.as_mut_slice()).as_slice_of_cells();
            let written = layout
                .write_field(layout.field(id), datum, &heap, cells, |i, word| cells[i].set(word))
                .expect("in range");
            if written == Written::InPlace {
                expected[*i] = value.clone();
                datums.push((id, datum));
            } else {
                prop_assert_eq!(layout.field(id).kind(), FieldKind::Var);
                let mut grown = vec![];
                layout.rebuild(in_place.as_slice(), &[(id, datum)], &heap, &mut grown)
                    .expect("in range");
                let mut with_it = expected.clone();
                with_it[*i] = value.clone();
                prop_assert_eq!(read_all(&layout, grown.as_slice()), with_it);
            }
        }
        prop_assert_eq!(read_all(&layout, in_place.as_slice()), expected.clone());
        let mut rebuilt = vec![];
        layout.rebuild(row.as_slice(), &datums, &heap, &mut rebuilt).expect("in range");
        prop_assert_eq!(read_all(&layout, rebuilt.as_slice()), expected);
    }

    #[test]
    fn rubbish_never_panics((columns, _, _) in case(), words in vec(any::<u64>(), 0..20)) {
        let layout = layout(&columns);
        let _rubbish = read_all(&layout, words.as_slice());
        let _bytes = layout.raw_bytes(words.as_slice());
        let mut out = vec![];
        let _unspecified = layout.rebuild(words.as_slice(), &[], &[], &mut out);
    }

    #[test]
    fn no_two_cells_overlap((columns, _, _) in case()) {
        let layout = layout(&columns);
        let mut used = vec![0_u64; layout.fixed_words()];
        for bit in 0..layout.null_bits {
            used[bit / 64] |= 1 << (bit % 64);
        }
        for field in layout.fields() {
            let words = match field.kind {
                FieldKind::N128 | FieldKind::Bytes16 => 2,
                FieldKind::CharWords => field.limit().div_ceil(8),
                _ => 1,
            };
            for word in &mut used[field.word()..field.word() + words] {
                prop_assert_eq!(*word & field.mask(), 0);
                *word |= field.mask();
            }
        }
    }
}

#[test]
fn narrow_cells_fill_the_word_of_the_null_bits() {
    use DataType::{BigInt, Boolean, Integer, SmallInt};
    let columns = [
        column(Boolean, true),
        column(BigInt, false),
        column(SmallInt, false),
        column(Integer, true),
    ];
    assert_eq!(layout(&columns).fixed_words(), 2);
}

#[test]
fn wrong_values_are_refused() {
    let check = |data_type, value: Datum, heap: &[u8], expected: RowError| {
        let layout = layout(&[column(data_type, false)]);
        assert_eq!(layout.build(&[value], heap, &mut vec![]), Err(expected));
        let row = vec![0; layout.fixed_words()];
        let field = layout.field(ColumnId(0));
        let stored = |_, _| panic!("nothing may be stored");
        let written = layout.write_field(field, value, heap, row.as_slice(), stored);
        assert_eq!(written, Err(expected));
    };
    let column = ColumnId(0);
    let out_of_range = RowError::OutOfRange { column };
    check(DataType::SmallInt, Datum::int(32_768), b"", out_of_range);
    check(DataType::Integer, Datum::int(-1 << 32), b"", out_of_range);
    check(DataType::Real, Datum::float(1e300), b"", out_of_range);
    let numeric = DataType::Numeric { precision: 4, scale: 2 };
    check(numeric, Datum::numeric(10_000), b"", out_of_range);
    check(numeric, Datum::NULL, b"", RowError::NullInNotNull { column });
    let too_long = RowError::TooLong { column, limit: 3 };
    check(DataType::Char(3), Datum::range(0, 4), b"abcd", too_long);
    check(DataType::Varchar(3), Datum::range(0, 4), b"abcd", too_long);
    check(DataType::Text, Datum::NULL, b"", RowError::NullInNotNull { column });
}

#[test]
fn only_blanks_are_cut() {
    assert_eq!(fit_characters("äöü  ".as_bytes(), 4), Some("äöü ".as_bytes()));
    assert_eq!(fit_characters("äöüx".as_bytes(), 3), None);
    assert_eq!(fit_characters(b"abc ", 3), Some(b"abc".as_slice()));
}

proptest! {
    #[test]
    fn rows_are_well_formed_and_words_that_cannot_be_are_not((columns, values, changes) in case()) {
        let layout = layout(&columns);
        let row = build(&layout, &values);
        prop_assert!(layout.is_well_formed(&row));
        let mut heap = vec![];
        let changes: Vec<_> = changes
            .iter()
            .map(|(i, value)| (ColumnId(*i as u16), value.datum(&mut heap)))
            .collect();
        let mut changed = vec![];
        layout.rebuild(row.as_slice(), &changes, &heap, &mut changed).expect("values are in range");
        prop_assert!(layout.is_well_formed(&changed));
        prop_assert!(!layout.is_well_formed(&row[..layout.fixed_words() - 1]));
        let longer: Vec<_> = row.iter().copied().chain([0]).collect();
        prop_assert_eq!(layout.is_well_formed(&longer), !layout.is_fixed());
        for field in layout.fields().iter().filter(|field| field.kind() == FieldKind::Var) {
            let descriptor = row[field.word()];
            let too_long = (row.len() as u64 * 8 + 1) << 32;
            for wrong in [0, u64::MAX, descriptor - 1, descriptor | too_long] {
                let mut row = row.clone();
                row[field.word()] = wrong;
                prop_assert!(!layout.is_well_formed(&row));
            }
        }
    }
}

#[test]
fn rows_and_layouts_too_large_are_refused() {
    let huge = [column(DataType::Char(600_000), false)];
    assert!(matches!(RowLayout::new(&huge), Err(RowError::RowTooLarge { .. })));
    let text = layout(&[column(DataType::Text, false)]);
    let heap = vec![b'x'; ROW_WORDS_MAX * 8];
    let value = Datum::range(0, heap.len() as u32);
    let built = text.build(&[value], &heap, &mut vec![]);
    assert_eq!(built, Err(RowError::RowTooLarge { words: ROW_WORDS_MAX + 1 }));
}

#[test]
fn raw_bytes_count_values_only() {
    let columns = [
        column(DataType::Integer, false),
        column(DataType::Text, true),
        column(DataType::Char(5), false),
        column(DataType::BigInt, true),
    ];
    let layout = layout(&columns);
    let values =
        [Plain::Int(1), Plain::Bytes(b"hello".to_vec()), Plain::Bytes(b"a".to_vec()), Plain::Null];
    assert_eq!(layout.raw_bytes(build(&layout, &values).as_slice()), 4 + 5 + 5);
}

#[test]
fn a_layout_prints_one_line_per_column() {
    let columns = [column(DataType::Integer, false), column(DataType::Text, true)];
    let expected = "2 fixed words, 1 null bits, 1 variable\n\
        column 0   integer              word 0    bits 32..=63 I32\n\
        column 1   text                 word 1    bits  0..=63 Var null bit 0\n";
    assert_eq!(layout(&columns).to_string(), expected);
}

#[test]
fn setting_a_cell_leaves_its_neighbours() {
    let types = [DataType::SmallInt, DataType::Integer, DataType::SmallInt, DataType::BigInt];
    let layout = layout(&types.map(|data_type| column(data_type, false)));
    let mut row = Vec::new();
    layout.build(&[1, -2, 3, -4].map(Datum::int), &[], &mut row).expect("the values fit");
    for (i, value) in [(0, -7), (1, i64::from(i32::MIN)), (2, 9), (3, i64::MAX)] {
        let field = layout.fields()[i];
        row[field.word()] = field.with_int(row[field.word()], value);
    }
    let values: Vec<_> = layout.fields().iter().map(|field| field.read_int(&row[..])).collect();
    assert_eq!(values, [-7, i64::from(i32::MIN), 9, i64::MAX]);
}

/// Texts of every length that takes another way, behind every length of what the heap holds, in
/// rows that end with the text and rows that go on; with and without blanks at the end.
#[test]
fn texts_of_every_length_are_read_back() {
    let letters: Vec<u8> = (b'A'..=b'z').filter(u8::is_ascii_alphabetic).collect();
    for len in 0..=40_usize {
        for blanks in [0, 1, len / 2, len].map(|blanks| blanks.min(len)) {
            let mut text = letters[..len].to_vec();
            text[len - blanks..].fill(b' ');
            for behind in 0..=5 {
                check_text(&text, behind);
            }
        }
    }
}

/// A row of a text and, where it has bytes, a char(n) of it, `behind` bigints, and, if that is an
/// odd number, another text, which then lies at the row's end.
fn check_text(text: &[u8], behind: usize) {
    let heap = [b"###", text].concat();
    let range = Datum::range(3, text.len() as u32);
    let mut cells = vec![(column(DataType::Varchar(60), true), range)];
    if !text.is_empty() {
        cells.push((column(DataType::Char(text.len() as u32), false), range));
    }
    cells.extend(vec![(column(DataType::BigInt, false), Datum::int(-1)); behind]);
    cells.extend((behind % 2 == 1).then(|| (column(DataType::Text, true), Datum::range(0, 2))));
    let (columns, values): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
    let (layout, mut words) = (layout(&columns), vec![]);
    layout.build(&values, &heap, &mut words).expect("in range");
    let row: Vec<AtomicU64> = words.into_iter().map(AtomicU64::new).collect();
    for start in 0..=8 {
        // A heap with no room, and one with room.
        for room in [0, 80] {
            let mut read = Vec::with_capacity(start + room);
            read.resize(start, b'#');
            let datum = layout.read(row.as_slice(), ColumnId(0), &mut read);
            assert_eq!(datum.as_range().range(), start..read.len());
            assert_eq!(&read[start..], text, "behind {start} bytes");
            if !text.is_empty() {
                let datum = layout.read(row.as_slice(), ColumnId(1), &mut read);
                assert_eq!(&read[datum.as_range().range()], text.trim_ascii_end());
            }
        }
    }
}

/// The first value at fault, in column order, decides what is reported.
#[test]
fn the_first_error_in_column_order_is_reported() {
    let columns = [
        column(DataType::Varchar(2), false),
        column(DataType::SmallInt, false),
        column(DataType::Char(9), false),
        column(DataType::BigInt, false),
    ];
    let layout = layout(&columns);
    let heap = b"abcdefghijkl";
    let fine = [Datum::range(0, 2), Datum::int(1), Datum::range(0, 9), Datum::int(i64::MIN)];
    let wrong = [Datum::range(0, 3), Datum::int(1 << 15), Datum::range(0, 10), Datum::NULL];
    let column = |i: usize| ColumnId(i as u16);
    let errors = [
        RowError::TooLong { column: column(0), limit: 2 },
        RowError::OutOfRange { column: column(1) },
        RowError::TooLong { column: column(2), limit: 9 },
        RowError::NullInNotNull { column: column(3) },
    ];
    for (first, &error) in errors.iter().enumerate() {
        let values: Vec<_> = (0..4).map(|i| if i < first { fine[i] } else { wrong[i] }).collect();
        assert_eq!(layout.build(&values, heap, &mut vec![]), Err(error));
    }
    assert_eq!(layout.build(&fine, heap, &mut vec![]), Ok(()));
}

#[test]
fn limits_of_numbers_are_built_and_read() {
    let (short, long) = (10_i128.pow(18) - 1, 10_i128.pow(38) - 1);
    let numeric = |precision| DataType::Numeric { precision, scale: 0 };
    for (data_type, limit) in [(numeric(18), short), (numeric(38), long)] {
        let layout = layout(&[column(DataType::SmallInt, true), column(data_type, true)]);
        for units in [0, limit, -limit] {
            let values = [Datum::NULL, Datum::numeric(units)];
            let mut row = vec![];
            layout.build(&values, &[], &mut row).expect("in range");
            let read = |i| layout.read(row.as_slice(), ColumnId(i), &mut vec![]);
            assert_eq!((read(0), read(1)), (Datum::NULL, Datum::numeric(units)));
        }
        for units in [limit + 1, -limit - 1].into_iter().filter(|_| limit == short) {
            let built = layout.build(&[Datum::int(1), Datum::numeric(units)], &[], &mut vec![]);
            assert_eq!(built, Err(RowError::OutOfRange { column: ColumnId(1) }));
        }
    }
    let layout = layout(&[column(DataType::BigInt, false), column(DataType::Integer, false)]);
    for (big, int) in [(i64::MIN, i32::MIN), (i64::MAX, i32::MAX)] {
        let mut row = vec![];
        let values = [Datum::int(big), Datum::int(int.into())];
        layout.build(&values, &[], &mut row).expect("in range");
        let read = |i| layout.read(row.as_slice(), ColumnId(i), &mut vec![]).as_int();
        assert_eq!((read(0), read(1)), (big, int.into()));
    }
}
