//! How far predictions of the virtual machine are from real runs of the same.
//!
//! Role         a machine in virtual time is to be believed as far as it was tested: what it says
//!              of one and two threads is held against this machine's own cores
//! Source       the points are those of figures whose source is [`BESIDE`]

use std::collections::BTreeMap;

use super::statistics::median;

/// The source of figures that are run for this.
pub(super) const BESIDE: &str = "Hotrow: virtual cores beside real ones";
/// How far a prediction may be off, as a share.
pub const MISS_MAX: f64 = 0.15;
/// Pairs of engine and workload that have to be predicted so well with every number of threads.
pub const PAIRS_MIN: usize = 12;

/// An engine and a workload, on real and on virtual cores.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// the figure, which has one workload
    pub figure: String,
    /// the series: an engine in certain settings
    pub series: String,
    /// by number of threads: it, calls a second on real cores, as predicted, and by how much the
    /// real ones lay apart, as a share of their median
    pub points: Vec<(String, f64, f64, f64)>,
}

impl Prediction {
    /// How far its worst point is off, as a share of what is real.
    pub fn miss(&self) -> f64 {
        let misses = self.points.iter().map(|(_, real, said, _)| (said / real - 1.0).abs());
        misses.fold(0.0, f64::max)
    }
}

/// The pairs of a figure, out of lines as [`super::write_csv`] writes them.
pub(super) fn predictions(figure: &str, real: &str, simulated: &str) -> Vec<Prediction> {
    let (real, simulated) = (rates(real), rates(simulated));
    let mut pairs: Vec<Prediction> = Vec::new();
    for ((series, x), rates) in real {
        let Some(said) = simulated.get(&(series.clone(), x.clone())) else { continue };
        let of_real = median(&rates);
        let most = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let point = (x, of_real, median(said), (most - least) / of_real);
        match pairs.iter_mut().find(|pair| pair.series == series) {
            Some(pair) => pair.points.push(point),
            None => {
                pairs.push(Prediction { figure: figure.to_owned(), series, points: vec![point] })
            }
        }
    }
    pairs
}

/// Calls a second in every run, by series and x.
fn rates(csv: &str) -> BTreeMap<(String, String), Vec<f64>> {
    let mut found = BTreeMap::<_, Vec<f64>>::new();
    for line in csv.lines().skip(1) {
        // figure,threads,clients,"series",x,seconds,txn_per_s,...
        let Some((_, rest)) = line.split_once('"') else { continue };
        let Some((series, rest)) = rest.split_once("\",") else { continue };
        let mut fields = rest.split(',');
        let (Some(x), Some(rate)) = (fields.next(), fields.nth(1)) else { continue };
        if let Ok(rate) = rate.parse() {
            found.entry((series.to_owned(), x.to_owned())).or_default().push(rate);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "figure,threads,clients,series,x,seconds,txn_per_s,more\n";

    #[test]
    fn medians_of_the_same_points_are_compared() {
        let real = format!(
            "{HEAD}f,1,0,\"a, b\",1,0.1,100.0,0\nf,1,0,\"a, b\",1,0.1,120.0,0\n\
             f,1,0,\"a, b\",1,0.1,110.0,0\nf,2,0,\"a, b\",2,0.1,200.0,0\nf,1,0,\"c\",1,0.1,5.0,0\n"
        );
        let said = format!("{HEAD}f,1,0,\"a, b\",1,0.1,99.0,0\nf,2,0,\"a, b\",2,0.1,240.0,0\n");
        let found = predictions("f", &real, &said);
        assert_eq!(found.len(), 1, "nothing was predicted of c: {found:?}");
        let Prediction { series, points, .. } = &found[0];
        assert_eq!((series.as_str(), points.len()), ("a, b", 2));
        assert_eq!((points[0].1, points[0].2), (110.0, 99.0));
        assert!((points[0].3 - 20.0 / 110.0).abs() < 1e-9, "how far the real ones lie apart");
        assert!((found[0].miss() - 0.2).abs() < 1e-9, "the worse of 0.1 and 0.2");
    }
}
