//! The manual's tables of options are what the rows say that read them.
//! `UPDATE_MANUAL=1 cargo test -p corral-config --test manual` writes them anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use corral_config::{DocumentedOption, OptionTable, option_tables};

const BEGIN: &str = "<!-- options: ";
const END: &str = "<!-- end of options -->";

#[test]
fn the_manual_shows_the_options_as_they_are() {
    let tables = option_tables();
    let mut shown = BTreeSet::new();
    let mut stale = Vec::new();
    for page in pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")) {
        let text = fs::read_to_string(&page).expect("a page is text");
        let renewed =
            renew(&text, &tables, &mut shown).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        if renewed == text {
            continue;
        }
        if env::var_os("UPDATE_MANUAL").is_some() {
            fs::write(&page, renewed).expect("a page can be written");
        } else {
            stale.push(page);
        }
    }
    assert!(
        stale.is_empty(),
        "these pages do not show the options as the rows in crates/config/src/validate have them: \
         {stale:#?}\n`UPDATE_MANUAL=1 cargo test -p corral-config --test manual` writes them anew"
    );
    let hidden: Vec<_> =
        tables.iter().map(|table| table.name).filter(|name| !shown.contains(*name)).collect();
    assert!(hidden.is_empty(), "no page has the line `{BEGIN}NAME -->` of these: {hidden:?}");
}

/// The page with its tables as they should be; notes which ones it shows.
fn renew(page: &str, tables: &[OptionTable], shown: &mut BTreeSet<String>) -> Result<String, String> {
    let mut renewed = String::new();
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let (name, behind) = behind.split_once(" -->\n").ok_or("a line of options is not complete")?;
        let (_, behind) =
            behind.split_once(END).ok_or_else(|| format!("the options of {name} have no end"))?;
        let table =
            tables.iter().find(|table| table.name == name).ok_or_else(|| format!("no options are {name}"))?;
        renewed += &format!("{before}{BEGIN}{name} -->\n\n{}\n{END}", markdown(table));
        shown.insert(name.to_owned());
        rest = behind;
    }
    Ok(renewed + rest)
}

/// The column of defaults is left out where nothing is in it.
fn markdown(table: &OptionTable) -> String {
    let has_defaults = table.options.iter().any(|option| !option.default.is_empty());
    let line = |name: &str, default: &str, meaning: &str| match has_defaults {
        true => format!("| {name} | {default} | {meaning} |\n"),
        false => format!("| {name} | {meaning} |\n"),
    };
    let head = line("option", "default", "meaning") + &line("---", "---", "---");
    let rows = table.options.iter().map(|option| {
        let default = if option.default.is_empty() { "–" } else { option.default };
        line(&format!("`{}`", option.name), &escape(default), &(escape(option.meaning) + &most(option)))
    });
    head + &rows.collect::<String>()
}

/// The bound of a number, behind what it means.
fn most(option: &DocumentedOption) -> String {
    option.most.map_or_else(String::new, |most| format!("; {most} at most"))
}

/// A bar would end the cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("the manual is there").map(|entry| entry.expect("it is there").path());
    let pages = entries.flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] });
    pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn what_stands_between_the_lines_is_written_anew() {
    let option = |name: &str, default, meaning, most| DocumentedOption {
        name: name.to_owned(),
        default,
        meaning,
        most,
    };
    let tables = [
        OptionTable {
            name: "a",
            options: vec![option("x.y", "1", "this | that", Some(9)), option("z", "", "", None)],
        },
        OptionTable { name: "b", options: vec![option("x", "", "this", None)] },
    ];
    let page = "0\n<!-- options: a -->\nold\n<!-- end of options -->\n1\n\
        <!-- options: b -->\n<!-- end of options -->";
    let expected = "0\n<!-- options: a -->\n\n| option | default | meaning |\n| --- | --- | --- |\n\
        | `x.y` | 1 | this \\| that; 9 at most |\n| `z` | – |  |\n\n<!-- end of options -->\n1\n\
        <!-- options: b -->\n\n| option | meaning |\n| --- | --- |\n| `x` | this |\n\n\
        <!-- end of options -->";
    let mut shown = BTreeSet::new();
    assert_eq!(renew(page, &tables, &mut shown).as_deref(), Ok(expected));
    assert_eq!(shown, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    assert_eq!(renew(expected, &tables, &mut shown).as_deref(), Ok(expected), "a second time");
    assert!(renew("<!-- options: c -->\n<!-- end of options -->", &tables, &mut shown).is_err());
}
