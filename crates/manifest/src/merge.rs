//! Several trees to one, member by member: two files must not say the same thing.

use corral_config::json::pointer;

use crate::fault::Fault;
use crate::node::{Node, NodeContent};

/// Adds the members of `more` to `base`.
pub(crate) fn merge(base: &mut Node, more: Node, faults: &mut Vec<Fault>) {
    merge_at("", base, more, faults);
}

fn merge_at(path: &str, base: &mut Node, more: Node, faults: &mut Vec<Fault>) {
    let (members, others) = match (&mut base.content, more.content) {
        (NodeContent::Object(members), NodeContent::Object(others)) => (members, others),
        (_, _) if path.is_empty() => {
            let message = format!("Only objects can be merged; the first file is {}.", base.place.file);
            faults.push(Fault::new(&more.place, message));
            return;
        }
        _ => {
            let message = format!("\"{path}\" is set here and at {}.", base.place);
            faults.push(Fault::new(&more.place, message));
            return;
        }
    };
    for other in others {
        match members.iter_mut().find(|member| member.name == other.name) {
            // Each file may name the schema that an editor has of it.
            Some(_) if path.is_empty() && *other.name == *b"$schema" => {}
            Some(member) => {
                let path = pointer::member(path, &other.name);
                merge_at(&path, &mut member.value, other.value, faults);
            }
            None => members.push(other),
        }
    }
}
