//! Habits of applications that PEP 3333 or ASGI forbids and other servers accept, in the words of the log.

pub(crate) const ONE_PIECE: &str =
    "the application returns bytes where PEP 3333 wants an iterable of them: they are sent as one piece";
pub(crate) const NOTHING: &str =
    "the application returns None where PEP 3333 wants an iterable of bytes: there is no more of the body";
pub(crate) const BARE_STATUS: &str =
    "the application gives start_response() a status without the space and words that PEP 3333 wants";
pub(crate) const ODD_LENGTH: &str =
    "the application gives a Content-Length that is not a number: it is left out of the response";
pub(crate) const LONG_BODY: &str =
    "the application sends more than its Content-Length says: the rest is left out of the response";
pub(crate) const FIELD_LISTS: &str =
    "the application gives start_response() headers as lists where PEP 3333 wants tuples";
pub(crate) const STARTED_TWICE: &str = "the application calls start_response() twice without exc_info, which PEP \
    3333 wants: the last call counts";
pub(crate) const STARTED_LATE: &str =
    "the application calls start_response() behind the head of the response: that call is ignored";
pub(crate) const UNENDED: &str =
    "the application returns before it has sent the end of its response, which ASGI wants: it ends there";
pub(crate) const TEXT_FIELDS: &str =
    "the application gives names or values of headers as strings, where ASGI wants byte strings";
