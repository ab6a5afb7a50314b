//! Targets that share processes: a script that stays in memory has processes of its own.

use super::modules;
use crate::json::{Bytes, Object, Value};
use crate::plan::{AppSpec, RuntimeSpec};
use crate::tables::AppPolicy;

/// The targets of an application by the processes that serve them, as places in the document: those without a worker
/// share theirs. The group of the first target is the application itself.
pub(crate) fn groups(application: &Value) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut common = None;
    for (idx, target) in targets(application).into_iter().flat_map(Object::values).enumerate() {
        match common {
            Some(group) if target.member("worker").is_none() => {
                let group: &mut Vec<usize> = &mut groups[group];
                group.push(idx);
            }
            _ => {
                if target.member("worker").is_none() {
                    common = Some(groups.len());
                }
                groups.push(vec![idx]);
            }
        }
    }
    groups
}

/// The names of an application's groups: its own, and further ones by that of their first target behind it.
#[must_use]
pub fn process_groups(name: &str, application: &Value) -> Vec<String> {
    let names: Vec<_> = targets(application).into_iter().flat_map(Object::keys).collect();
    let further = groups(application).into_iter().skip(1);
    let further = further.map(|group| group_name(name, &names[group[0]].to_string_lossy()));
    std::iter::once(name.to_owned()).chain(further).collect()
}

fn group_name(name: &str, target: &str) -> String {
    format!("{name}/{target}")
}

/// Targets are what PHP has.
fn targets(application: &Value) -> Option<&Object> {
    let app_type = application.member("type").and_then(Value::as_bytes);
    let is_php = app_type.is_some_and(|text| modules::split_type(&text.to_string_lossy()).0 == "php");
    application.member("targets").and_then(Value::as_object).filter(|_| is_php)
}

/// An application as its groups.
pub(super) fn split(spec: AppSpec, application: &Value) -> Vec<AppSpec> {
    let groups = groups(application);
    if groups.len() < 2 {
        return vec![spec];
    }
    let names = process_groups(&spec.name, application);
    let groups = groups.into_iter().zip(names);
    groups.map(|(group, name)| AppSpec { name, ..part(&spec, &group) }).collect()
}

/// The router's part of each group.
pub(super) fn policies(policy: AppPolicy, application: &Value) -> Vec<AppPolicy> {
    let groups = groups(application);
    if groups.len() < 2 {
        return vec![policy];
    }
    let entries =
        |group: &[usize]| group.iter().filter_map(|idx| policy.entries.get(*idx).cloned()).collect();
    groups.iter().map(|group| AppPolicy { entries: entries(group), ..policy.clone() }).collect()
}

fn part(spec: &AppSpec, group: &[usize]) -> AppSpec {
    let mut part = spec.clone();
    if let RuntimeSpec::Php(php) = &mut part.runtime {
        let targets = std::mem::take(&mut php.targets);
        php.targets = group.iter().filter_map(|idx| targets.get(*idx).cloned()).collect();
    }
    part
}

/// The name of an application that a group of another one has.
pub(super) fn taken_name(applications: &Object) -> Option<&Bytes> {
    let further = applications.iter().flat_map(|(name, application)| {
        process_groups(&name.to_string_lossy(), application).into_iter().skip(1)
    });
    further.into_iter().find_map(|name| applications.get_key_value(name.as_bytes())).map(|(name, _)| name)
}
