//! A double as C's `%g` shows it in messages.

/// Six digits, without zeros at the end; with an exponent where it is below -4 or above 5.
pub(super) fn six_digits(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let plain = format!("{value:.*}", (5 - exponent).unsigned_abs() as usize);
        return without_zeros(&plain).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(digits), exponent.unsigned_abs())
}

fn without_zeros(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}
