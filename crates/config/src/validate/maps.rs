//! `maps` (beyond Unit).

mod circles;
mod entries;

use self::entries::GeoDraft;
use super::context::Context;
use super::schema::{self, Field, Member, OBJECT, STRING, optional};
use super::strings::{member_name, template};
use crate::json::{Bytes, Object, Value};
use crate::map::{Entries, GeoTable, Map, SplitTable, TableName, ValueTable};
use crate::table::Table;
use crate::template::{Template, Variable};

/// Reads all maps, into the tables of the configuration.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) {
    let n_problems = cx.n_problems();
    let mut maps = Table::default();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| maps.extend(read_one(cx, name, value)));
    }
    // A map that could not be read moves the places of those behind it.
    if cx.n_problems() == n_problems {
        circles::check(cx, &maps);
    }
    cx.tables.maps = maps;
}

fn read_one(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<Map> {
    let text = member_name(cx, name)?;
    let Some(members) = value.as_object() else {
        schema::report_wrong_type(cx, &text, OBJECT, value);
        return None;
    };
    if !is_name(name) {
        cx.problem_with_advice(
            format!("The name \"{name}\" of a map must consist of letters, digits and \"_\"."),
            format!("A template has its value as \"${{map_{}}}\".", folded(&text)),
        );
    }
    let mut draft = ValueMapDraft::default();
    schema::read_object(cx, members, &[MAP], &mut draft);
    draft.finish(cx, text, members)
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The nearest name that can be one.
fn folded(name: &str) -> String {
    name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect()
}

#[derive(Default)]
struct ValueMapDraft {
    from: Option<Template>,
    default: Option<Template>,
    table: Vec<(TableName, Template)>,
    geo: GeoDraft,
    split: Vec<(u32, Template)>,
}

const MAP: &[Member<ValueMapDraft>] = &[
    optional("from", STRING)
        .default("required; for `geo` `\"$remote_addr\"`")
        .means("a text with [variables](templates.md): what is looked up")
        .read(|cx, field, draft| draft.from = template(cx, field)),
    optional("table", OBJECT)
        .means("an object: values by [names and patterns](#table)")
        .read(|cx, field, draft| draft.table = entries::table(cx, field)),
    optional("geo", OBJECT)
        .means("an object: values by [networks](#geo), or files of these; `from` is an address")
        .read(|cx, field, draft| draft.geo = entries::geo(cx, field)),
    optional("split", OBJECT)
        .means("an object: values by [shares of all texts](#split), such as `\"5%\"`; `\"*\"` is the rest")
        .read(|cx, field, draft| draft.split = entries::split(cx, field)),
    optional("default", STRING)
        .default("`\"\"`")
        .means("the value of what is not found")
        .read(|cx, field, draft| draft.default = template(cx, field)),
];

impl ValueMapDraft {
    fn finish(self, cx: &mut Context<'_>, name: String, members: &Object) -> Option<Map> {
        let Self { from, default, table, geo, split } = self;
        let has = |name: &str| members.contains_key(name.as_bytes());
        let kinds: Vec<_> = ["table", "geo", "split"].into_iter().filter(|kind| has(kind)).collect();
        let [kind] = kinds[..] else {
            cx.problem("A map must have one of \"table\", \"geo\" and \"split\".");
            return None;
        };
        if !has("from") && kind != "geo" {
            cx.problem("Required parameter \"from\" is missing.");
        }
        let from = from.or_else(|| Template::parse(b"$remote_addr").ok().filter(|_| !has("from")))?;
        let entries = match kind {
            "geo" => Entries::Geo(GeoTable::with_files(geo.networks, geo.files)),
            "split" => Entries::Split(SplitTable::new(name.clone(), split)),
            _ => Entries::Table(value_table(&from, table)),
        };
        Some(Map { name, from, entries, default })
    }
}

/// The table of a map. Hosts are in lower case, and so are their names then; one with a dot in front stands for all
/// below it, too.
fn value_table(from: &Template, entries: Vec<(TableName, Template)>) -> ValueTable {
    if from.is_variable() != Some(&Variable::Host) {
        return ValueTable::new(entries);
    }
    let hosts = entries.into_iter().flat_map(|(name, value)| {
        let names = name.into_lower_case().with_subdomains();
        names.into_iter().map(move |name| (name, value.clone()))
    });
    ValueTable::new(hosts)
}
