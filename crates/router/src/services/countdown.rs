//! Waiting until every event loop has done something.

use std::sync::Arc;

use tokio::sync::mpsc;

/// Tells the control thread when the last loop has dropped its copy.
pub(crate) type Countdown = Arc<mpsc::Sender<()>>;
