//! The manual's tables of variables are what the rows say that name them.
//! `UPDATE_MANUAL=1 cargo test -p corral-config --test variables` writes them anew.

use std::path::Path;
use std::{env, fs};

use corral_config::template::VariableRow;

const BEGIN: &str = "<!-- variables -->\n";
const END: &str = "<!-- end of variables -->";

#[test]
fn templates_have_all_variables() {
    let rows = VariableRow::all().iter().filter(|row| !row.name.is_empty());
    let rows = rows.map(|row| format!("| `{}` | {} |\n", row.name, escape(row.meaning)));
    check("templates.md", &("| variable | value |\n| --- | --- |\n".to_owned() + &rows.collect::<String>()));
}

#[test]
fn names_of_other_servers_stand_beside_ours() {
    let rows = VariableRow::all().iter().filter(|row| !row.nginx.is_empty() || !row.apache.is_empty());
    let rows = rows.map(|row| {
        let here = if row.name.is_empty() { escape(row.meaning) } else { format!("`${}`", row.name) };
        format!("| {} | {} | {here} |\n", names("$", row.nginx), names("", row.apache))
    });
    let head = "| nginx | Apache | Corral |\n| --- | --- | --- |\n".to_owned();
    check("variables.md", &(head + &rows.collect::<String>()));
}

/// Names as a cell shows them.
fn names(sign: &str, names: &str) -> String {
    let names = names.split(' ').filter(|name| !name.is_empty());
    names.map(|name| format!("`{sign}{}`", escape(name))).collect::<Vec<_>>().join(", ")
}

/// A bar would end the cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The page has this table, or gets it.
#[track_caller]
fn check(page: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/configuration").join(page);
    let text = fs::read_to_string(&path).expect("a page is text");
    let (before, rest) = text.split_once(BEGIN).expect("the table has a beginning");
    let (_, behind) = rest.split_once(END).expect("the table has an end");
    let renewed = format!("{before}{BEGIN}\n{table}\n{END}{behind}");
    if env::var_os("UPDATE_MANUAL").is_some() {
        fs::write(&path, renewed).expect("a page can be written");
        return;
    }
    assert!(
        renewed == text,
        "{page} does not show the variables as crates/config/src/template/names.rs has them\n\
         `UPDATE_MANUAL=1 cargo test -p corral-config --test variables` writes them anew"
    );
}
