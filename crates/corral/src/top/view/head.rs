//! The head of the picture: the daemon, and everything that it serves together.

use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::words;
use crate::status;
use crate::top::answers::Answers;
use crate::top::look::Look;

/// Two lines.
pub(super) fn paragraph(answers: &Answers, look: Look) -> Paragraph<'static> {
    let figures = &answers.figures;
    let daemon =
        format!("corral {}, process {}, up {}", figures.version, figures.pid, status::uptime(figures.uptime));
    let connections = if figures.active == 1 { "connection" } else { "connections" };
    let mut traffic = format!("{} {connections} active, {} idle", figures.active, figures.idle);
    if let Some(rates) = &answers.rates {
        traffic.push_str(&format!("; {} requests/s", words::rate(rates.requests)));
        if let Some(failed) = rates.failed {
            traffic.push_str(&format!("; {} failed", words::share(failed)));
        }
    }
    Paragraph::new(vec![Line::styled(daemon, look.strong()), Line::raw(traffic)])
}
