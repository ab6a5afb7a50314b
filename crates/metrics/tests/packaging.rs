//! The rules for Prometheus and the dashboard for Grafana are what the tables have, and name no series but theirs.
//! `UPDATE_PACKAGING=1 cargo test -p corral-metrics` writes them anew.

use std::collections::HashSet;
use std::path::Path;
use std::{env, fs};

use corral_metrics::alerts::ALERTS;
use corral_metrics::{Family, Kind, Section, Unit, table};
use serde_json::{Value, json};

#[track_caller]
fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    if env::var_os("UPDATE_PACKAGING").is_some() {
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be made");
        return fs::write(&path, text).expect("the file can be written");
    }
    let shipped = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shipped == text,
        "`UPDATE_PACKAGING=1 cargo test -p corral-metrics` writes packaging/{name} anew"
    );
}

/// A text as YAML has it between quotes.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

#[test]
fn the_rules_are_those_of_the_table() {
    let rules = ALERTS.iter().map(|alert| {
        format!(
            "      - alert: {}\n        expr: {}\n        for: {}\n        labels:\n          severity: {}\n        \
             annotations:\n          summary: {}\n          description: {}\n",
            alert.name,
            quoted(alert.expression),
            alert.holds_for,
            alert.severity.word(),
            quoted(alert.summary),
            quoted(alert.advice),
        )
    });
    let head = "# Alerts on Corral for Prometheus: name this file in rule_files of prometheus.yml.\ngroups:\n  - name: \
                corral\n    rules:\n";
    check("prometheus/corral.rules.yml", &format!("{head}{}", rules.collect::<String>()));
}

#[test]
fn rules_name_series_of_the_table() {
    let suffixes: fn(&Family) -> Vec<String> = |family| match family.kind {
        Kind::Histogram => ["bucket", "sum", "count"].map(|end| format!("{}_{end}", family.name)).to_vec(),
        Kind::Counter | Kind::Gauge => vec![family.sample_name()],
    };
    let known: HashSet<String> = table::ALL.iter().flat_map(|family| suffixes(family)).collect();
    for alert in ALERTS {
        let words = alert.expression.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        for word in words.filter(|word| word.starts_with("corral_")) {
            assert!(known.contains(word), "{}: {word}", alert.name);
        }
    }
}

/// A panel for each series: its rate if it is counted, its level otherwise, of durations what 19 of 20 are within.
#[test]
fn the_dashboard_shows_all_series() {
    let mut panels = Vec::new();
    let mut y = 0;
    for section in Section::ALL {
        let families: Vec<_> = table::ALL.iter().filter(|family| family.section == section).collect();
        panels.push(json!({
            "type": "row", "title": section.title(), "collapsed": false,
            "gridPos": { "h": 1, "w": 24, "x": 0, "y": y }, "panels": [],
        }));
        y += 1;
        for (idx, family) in families.iter().enumerate() {
            let place = json!({ "h": 8, "w": 8, "x": idx % 3 * 8, "y": y + idx / 3 * 8 });
            panels.push(panel(family, panels.len(), &place));
        }
        y += families.len().div_ceil(3) * 8;
    }
    let dashboard = json!({
        "title": "Corral", "uid": "corral", "tags": ["corral"], "schemaVersion": 38, "editable": true,
        "time": { "from": "now-1h", "to": "now" }, "refresh": "10s",
        "templating": { "list": [{
            "name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source",
        }, {
            "name": "instance", "type": "query", "label": "Instance", "multi": true, "includeAll": true,
            "datasource": { "type": "prometheus", "uid": "$datasource" },
            "query": "label_values(corral_build_info, instance)", "refresh": 2,
        }] },
        "panels": panels,
    });
    let text = serde_json::to_string_pretty(&dashboard).expect("it is JSON");
    check("grafana/corral.json", &(text + "\n"));
}

fn panel(family: &Family, id: usize, place: &Value) -> Value {
    let name = family.sample_name();
    let labels = family.labels.join(", ");
    let by = if labels.is_empty() { String::new() } else { format!(" by ({labels})") };
    let expression = match family.kind {
        Kind::Counter => format!("sum{by} (rate({name}{{instance=~\"$instance\"}}[$__rate_interval]))"),
        Kind::Gauge => format!("sum{by} ({name}{{instance=~\"$instance\"}})"),
        Kind::Histogram => format!(
            "histogram_quantile(0.95, sum by ({labels}, le) \
             (rate({name}_bucket{{instance=~\"$instance\"}}[$__rate_interval])))"
        ),
    };
    let legend = family.labels.iter().map(|label| format!("{{{{{label}}}}}")).collect::<Vec<_>>().join(" ");
    let unit = match (family.unit, family.kind) {
        (Unit::Bytes, Kind::Counter) => "Bps",
        (Unit::Bytes, _) => "bytes",
        (Unit::Seconds, Kind::Gauge) if family.help.ends_with("since 1970") => "dateTimeAsIso",
        (Unit::Seconds, _) => "s",
        (Unit::None, Kind::Counter) => "reqps",
        (Unit::None, _) => "short",
    };
    let scale = if unit == "dateTimeAsIso" { " * 1000" } else { "" };
    json!({
        "id": id, "type": "timeseries", "title": family.help, "description": family.meaning, "gridPos": place,
        "datasource": { "type": "prometheus", "uid": "$datasource" },
        "fieldConfig": { "defaults": { "unit": unit, "min": 0 }, "overrides": [] },
        "targets": [{ "expr": expression + scale, "legendFormat": legend, "refId": "A" }],
    })
}
