//! HTTP/1 parsing and serialising, conditionals, ranges and MIME types. Pure: bytes in, values out.
