//! Medians, and the interval that a mean lies in.
//!
//! Source       M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4

/// The middle value; of an even number of them the mean of both. NaN without any.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Where the mean of what the values are drawn from lies with this confidence, by Student's t.
/// None where there are fewer than two values, or one is infinite or no number.
pub(super) fn interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let error = (square / (n - 1.0) / n).sqrt();
    let half = if error == 0.0 { 0.0 } else { error * student_t(values.len() - 1, confidence) };
    Some((mean - half, mean + half))
}

/// The t that |T| stays below with this probability, with so many degrees of freedom.
fn student_t(freedom: usize, probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while within(freedom, high) < probability && high < 1e12 {
        high *= 2.0;
    }
    // 60 halvings leave less than what a double can tell.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        *(if within(freedom, middle) < probability { &mut low } else { &mut high }) = middle;
    }
    high
}

/// The probability of |T| < t.
fn within(freedom: usize, t: f64) -> f64 {
    let theta = (t / (freedom as f64).sqrt()).atan();
    let (sin, cos) = theta.sin_cos();
    // Odd: cos + 2/3 cos^3 + 2*4/(3*5) cos^5 + ...; even: 1 + 1/2 cos^2 + 1*3/(2*4) cos^4 + ...
    let (mut term, mut sum) = if freedom % 2 == 1 { (cos, 0.0) } else { (1.0, 0.0) };
    let first = freedom % 2;
    for power in (first..freedom.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= cos * cos * (power + 1) as f64 / (power + 2) as f64;
    }
    match freedom % 2 {
        1 => (theta + sin * sum) * 2.0 / std::f64::consts::PI,
        _ => sin * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, probability, t) in [
            (1, 0.95, 12.706),
            (2, 0.95, 4.303),
            (3, 0.95, 3.182),
            (4, 0.95, 2.776),
            (4, 0.99, 4.604),
            (5, 0.95, 2.571),
            (9, 0.95, 2.262),
            (10, 0.999, 4.587),
        ] {
            let found = student_t(freedom, probability);
            assert!((found - t).abs() < 1e-3, "{freedom} {probability}: {found}");
        }
    }

    #[test]
    fn the_middle_and_the_interval() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(interval(&[2.0; 5], 0.95), Some((2.0, 2.0)));
        assert_eq!(interval(&[2.0], 0.95), None);
        assert_eq!(interval(&[2.0, f64::INFINITY], 0.95), None);
        let (low, high) = interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).expect("they are numbers");
        assert!((low - 1.0368).abs() < 1e-3 && (high - 4.9632).abs() < 1e-3, "{low} {high}");
    }
}
