//! Messages about variables that a template cannot have.

use super::context::{Context, nearest};
use crate::template::{TemplateError, VariableRow};

/// Reports a text of the option `name` that is not a template.
pub(super) fn report(cx: &mut Context<'_>, error: &TemplateError, name: &str) {
    let detail = format!("{error} in the \"{name}\" value.");
    match error {
        TemplateError::UnknownGroup { number, .. } => {
            let advice = cx.scope().groups.map_or_else(|| no_group(number), |groups| format!("{groups}."));
            cx.problem_with_advice(detail, advice);
        }
        TemplateError::UnknownVariable(written) => report_unknown(cx, detail, written),
        TemplateError::InvalidVariable(_) | TemplateError::NotUtf8 => cx.problem(detail),
    }
}

fn no_group(number: &str) -> String {
    format!("There is no regular expression here with a group {number}; a dollar sign itself is \"$dollar\".")
}

fn report_unknown(cx: &mut Context<'_>, detail: String, written: &str) {
    if let Some(advice) = advice(written) {
        return cx.problem_with_advice(detail, advice);
    }
    let candidates = names(cx, written);
    let meant = cx.search(|| nearest(written, candidates.iter()));
    let in_braces = meant.as_ref().filter(|name| name.bytes().any(|byte| byte.is_ascii_digit()));
    let advice = in_braces.map(|name| format!("A name with digits stands in braces: \"${{{name}}}\"."));
    let groups = || cx.scope().groups.filter(|_| meant.is_none()).map(|groups| format!("{groups}."));
    let advice = advice.or_else(groups);
    cx.problem_that_means(detail, advice.unwrap_or_default(), meant);
}

/// The right name in the place of one that is not finished, or another server's.
fn advice(written: &str) -> Option<String> {
    if VariableRow::all().iter().any(|row| row.is_family() && row.stem() == written) {
        return Some(format!(
            "Write a name behind it; one that has digits stands in braces: \"${{{written}x1}}\"."
        ));
    }
    let (row, rest) = VariableRow::of_others(written)?;
    Some(match row.name {
        "" if row.meaning.starts_with('`') => format!("Write {}.", plain(row.meaning).trim_end_matches('.')),
        "" => plain(row.meaning),
        _ if row.is_family() && rest.is_empty() => format!("Corral's name of it is \"${}\".", row.name),
        _ => format!("Corral's name of it is \"{}\".", shown(row.stem(), rest)),
    })
}

/// A variable as it stands in a template.
fn shown(stem: &str, rest: &str) -> String {
    let has_digits = rest.bytes().any(|byte| byte.is_ascii_digit());
    if has_digits { format!("${{{stem}{rest}}}") } else { format!("${stem}{rest}") }
}

/// Markdown without its links and its backticks.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((name, behind)) = link.split_once("](") else { break };
        let Some((_, behind)) = behind.split_once(')') else { break };
        text += before;
        text += name;
        rest = behind;
    }
    (text + rest).replace('`', "\"")
}

/// The names that a template can have here, those with a free part as they would be for `written`.
fn names(cx: &Context<'_>, written: &str) -> Vec<String> {
    let own = VariableRow::all().iter().filter(|row| !row.name.is_empty()).filter_map(|row| {
        let n_words = row.stem().matches('_').count();
        let rest = written.splitn(n_words + 1, '_').nth(n_words);
        if row.is_family() { Some(format!("{}{}", row.stem(), rest?)) } else { Some(row.name.to_owned()) }
    });
    let maps = cx.scope().maps.into_iter().flat_map(|maps| maps.iter().map(|name| format!("map_{name}")));
    let groups = cx.scope().groups.into_iter().flat_map(|groups| groups.names().iter().cloned());
    own.chain(maps).chain(groups).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expect: &str) {
        assert_eq!(advice(written).as_deref(), Some(expect), "{written}");
    }

    #[test]
    fn names_of_other_servers_have_an_answer() {
        check("request_method", "Corral's name of it is \"$method\".");
        check("http_x1", "Corral's name of it is \"${header_x1}\".");
        check("http_user_agent", "Corral's name of it is \"$header_user_agent\".");
        check("ssl_client_s_dn", "Corral's name of it is \"$tls_client_subject\".");
        check("content_type", "Write \"$header_content_type\".");
        check("upstream_cache_status", "There is no cache of responses.");
        check("geoip_country_code", "A map of networks.");
        check("REQUEST_METHOD", "Corral's name of it is \"$method\".");
        check("cookie_", "Write a name behind it; one that has digits stands in braces: \"${cookie_x1}\".");
        assert_eq!(advice("nothing"), None);
    }

    #[test]
    fn advice_is_a_sentence() {
        for name in VariableRow::all().iter().flat_map(|row| row.nginx.split(' ')) {
            let written = name.replace("NAME", "a");
            let Some(advice) = advice(&written) else { continue };
            assert!(advice.ends_with('.') && !advice.contains(['`', '[']), "{written}: {advice}");
        }
    }
}
