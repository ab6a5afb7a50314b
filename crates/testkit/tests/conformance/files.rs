//! Files: `share`, what may be on the way to a file, and what Corral adds.

mod beyond;
mod confined;
mod fresh;
mod share;
