//! The words of a server about a request, for the log.

use crate::answer::proxy::shown::shown;
use crate::exchange::request::RoutedRequest;

/// Bytes of one request that are logged.
const MOST: usize = 8 * 1024;

/// Gathers what comes in pieces.
#[derive(Default)]
pub(super) struct ErrorOutput {
    text: Vec<u8>,
    is_cut: bool,
}

impl ErrorOutput {
    pub(super) fn push(&mut self, piece: &[u8]) {
        let n = piece.len().min(MOST - self.text.len());
        self.is_cut |= n < piece.len();
        self.text.extend_from_slice(&piece[..n]);
    }

    /// Logs it, each line with its request.
    pub(super) fn report(&mut self, request: &RoutedRequest<'_>, server: &str) {
        let text = std::mem::take(&mut self.text);
        let lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty());
        for line in lines {
            let line = String::from_utf8_lossy(line);
            tracing::error!("{server}: {}, request \"{}\"", line.escape_debug(), shown(request));
        }
        if std::mem::take(&mut self.is_cut) {
            tracing::error!("{server}: it said more than {MOST} bytes of request \"{}\"", shown(request));
        }
    }
}
