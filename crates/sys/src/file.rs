//! Files: sendfile, unlinked temporary files, opening below a folder.
