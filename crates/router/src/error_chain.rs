//! Errors as the log shows them.

use std::error::Error;
use std::fmt;

/// An error and its causes: `connect: Connection refused (os error 111)`.
pub(crate) struct Chain<'a>(pub(crate) &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use crate::upstream::ServerFailure;

    use super::*;

    #[test]
    fn causes_follow_what_they_caused() {
        let failure = ServerFailure::Send(io::Error::other("the cause"));
        assert_eq!(Chain(&failure).to_string(), "send the request: the cause");
        assert_eq!(Chain(&ServerFailure::Closed).to_string(), ServerFailure::Closed.to_string());
    }
}
