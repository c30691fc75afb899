//! A check as JSON.

use serde_json::{Value, json};

use super::difference::Difference;
use super::report::{granules, shown};
use super::version::{Procedure, Told, Version};

/// All that the text has, as one object.
pub(super) fn document(
    now: &Version,
    before: Option<&Version>,
    differences: Option<&[Difference]>,
) -> String {
    let mut document = version(now);
    if let Some(before) = before {
        document["against"] = version(before);
    }
    if let Some(differences) = differences {
        document["differences"] = differences.iter().map(difference).collect();
    }
    format!("{document:#}")
}

fn version(of: &Version) -> Value {
    json!({
        "procedures": of.procedures.iter().map(procedure).collect::<Value>(),
        "refused": of.refused.iter().map(told).collect::<Value>(),
        "warnings": of.warnings.iter().map(told).collect::<Value>(),
    })
}

fn procedure(of: &Procedure) -> Value {
    let Procedure { key, signature, at, holdings, .. } = of;
    let held = granules(holdings).into_iter().map(|granule| {
        let key = granule
            .held
            .key
            .iter()
            .map(|(column, value)| json!({ "column": column, "value": value }));
        let by =
            granule.by.iter().map(|(line, verb)| json!({ "line": of.line(*line), "does": verb }));
        json!({
            "mode": granule.mode.name(),
            "of": granule.held.of,
            "key": key.collect::<Value>(),
            "shown": shown(granule.held),
            "by": by.collect::<Value>(),
        })
    });
    let doubts = holdings.accesses.iter().filter_map(|access| access.doubt.as_ref());
    let doubts = doubts.chain(&holdings.alone).map(
        |doubt| json!({ "line": of.line(doubt.place.line), "why": doubt.why, "hint": doubt.hint }),
    );
    let wholes = holdings.wholes.iter().map(|whole| {
        let said = &whole.said;
        let line = of.line(said.place.line);
        json!({ "line": line, "message": said.message, "detail": said.detail, "hint": said.hint })
    });
    json!({
        "name": key,
        "signature": signature,
        "file": at.file,
        "line": at.line,
        "planning": holdings.planning().name(),
        "holds": held.collect::<Value>(),
        "not_planned_because": doubts.collect::<Value>(),
        "whole": wholes.collect::<Value>(),
        "calls": holdings.inlined,
    })
}

fn told(of: &Told) -> Value {
    let Told { at, level, sqlstate, message, detail, hint } = of;
    json!({
        "file": at.file, "line": at.line, "column": at.column, "level": level,
        "sqlstate": sqlstate, "message": message, "detail": detail, "hint": hint,
    })
}

fn difference(of: &Difference) -> Value {
    match of {
        Difference::Came { procedure, planning } => {
            json!({ "name": procedure, "is": ["new"], "planning": planning.name() })
        }
        Difference::Went { procedure } => json!({ "name": procedure, "is": ["gone"] }),
        Difference::Changed { procedure, planning: (before, now), more, less } => json!({
            "name": procedure,
            "is": of.words(),
            "planning_before": before.name(),
            "planning": now.name(),
            "more": more,
            "less": less,
        }),
    }
}
