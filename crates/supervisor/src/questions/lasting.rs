//! Names that every configuration has had since a process had the one in force. Its counters of other names do not go
//! on: a thing that has left the configuration begins at zero when it is added again.

use corral_ipc::message::{FigureNames, Status};

/// The names; all of them until a configuration has come.
#[derive(Debug, Default)]
pub(super) struct LastingNames(Option<FigureNames>);

impl LastingNames {
    /// A configuration with these names is in force, in another process.
    pub(super) fn pass(&mut self, names: &FigureNames) {
        match &mut self.0 {
            Some(lasting) => lasting.keep_common(names),
            lasting @ None => *lasting = Some(names.clone()),
        }
    }

    /// Leaves out what the process tells of other things.
    pub(super) fn keep(&self, told: &mut Status) {
        self.0.iter().for_each(|names| told.keep(names));
    }
}
