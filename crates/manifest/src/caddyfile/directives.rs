//! Makes lines and blocks of words.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::tokens::CaddyToken;
use super::{CaddyfileError, Directive, error};

/// The deepest nesting of blocks; no real file has more.
const MAX_DEPTH: usize = 32;

type Tokens = Peekable<IntoIter<CaddyToken>>;

pub(super) fn nest(tokens: Vec<CaddyToken>) -> Result<Vec<Directive>, CaddyfileError> {
    block(&mut tokens.into_iter().peekable(), None, 0)
}

/// The lines until the brace that closes what was opened in the line `opened`, or until the end.
fn block(tokens: &mut Tokens, opened: Option<usize>, depth: usize) -> Result<Vec<Directive>, CaddyfileError> {
    let mut directives = Vec::new();
    while let Some(token) = tokens.next() {
        if !token.is("}") {
            directives.push(directive(token, tokens, depth)?);
            continue;
        }
        return match tokens.peek().filter(|next| next.row == token.row) {
            _ if opened.is_none() => error(token.line, "there is nothing that } could close"),
            Some(next) => error(next.line, "nothing may stand behind }"),
            None => Ok(directives),
        };
    }
    match opened {
        Some(line) => error(line, "the block that begins here is not closed with }"),
        None => Ok(directives),
    }
}

/// The line that begins with this word.
fn directive(first: CaddyToken, tokens: &mut Tokens, depth: usize) -> Result<Directive, CaddyfileError> {
    let (line, row) = (first.line, first.row);
    let mut directive = Directive { line, words: Vec::new(), block: None };
    let mut next = Some(first);
    while let Some(token) = next {
        if token.is("}") {
            return error(token.line, "} belongs in a line of its own");
        }
        if token.is("{") {
            if let Some(behind) = tokens.peek().filter(|behind| behind.row == token.row) {
                return error(behind.line, "nothing may stand behind {, which opens a block");
            }
            if depth >= MAX_DEPTH {
                return error(token.line, format!("more than {MAX_DEPTH} blocks are in each other"));
            }
            directive.block = Some(block(tokens, Some(token.line), depth + 1)?);
            return Ok(directive);
        }
        directive.words.push(token.text);
        next = tokens.next_if(|token| token.row == row);
    }
    Ok(directive)
}
