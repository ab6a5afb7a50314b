//! PHP as a script and its visitors see it.

mod abandoned;
mod body;
mod deploys;
mod environment;
mod errors;
mod guard;
mod images;
mod limits;
mod manual;
mod output;
mod roots;
mod scaling;
mod scripts;
mod settings_by_path;
mod state;
mod variables;
mod versions;
mod worker;
