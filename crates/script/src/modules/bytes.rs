//! Work that scripts cannot do fast themselves: text to bytes and back, and hashes.

#![expect(clippy::needless_pass_by_value, reason = "what JavaScript calls a function with is made for it")]

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{self, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, Mac};
use md5::Md5;
use rquickjs::function::Function;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Exception, Result, TypedArray};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// As browsers and Node.js read it: with padding or without, and with bits that mean nothing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The module of these functions.
pub(super) struct Bytes;

impl ModuleDef for Bytes {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in ["encode", "decode", "digest", "authenticate"] {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("encode", Function::new(ctx.clone(), encode)?)?;
        exports.export("decode", Function::new(ctx.clone(), decode)?)?;
        exports.export("digest", Function::new(ctx.clone(), digest)?)?;
        exports.export("authenticate", Function::new(ctx.clone(), authenticate)?)?;
        Ok(())
    }
}

/// Bytes come as text of which each character is one: what is in a buffer of JavaScript can only be looked at by
/// `unsafe`.
fn bytes_of(binary: &str) -> Vec<u8> {
    binary.encode_utf16().map(|unit| unit.to_le_bytes()[0]).collect()
}

/// The bytes as text.
fn encode(ctx: Ctx<'_>, binary: String, encoding: String) -> Result<String> {
    let bytes = bytes_of(&binary);
    Ok(match &*encoding {
        "utf8" => String::from_utf8_lossy(&bytes).into_owned(),
        "latin1" => binary,
        "hex" => base16(&bytes),
        "base64" => general_purpose::STANDARD.encode(bytes),
        "base64url" => general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        _ => return Err(unknown(&ctx, "encoding", &encoding)),
    })
}

/// The bytes that a text stands for; what is badly written ends it.
fn decode<'js>(ctx: Ctx<'js>, text: String, encoding: String) -> Result<TypedArray<'js, u8>> {
    let bytes = match &*encoding {
        "utf8" => text.into_bytes(),
        "latin1" => bytes_of(&text),
        "hex" => from_base16(text.as_bytes()),
        "base64" | "base64url" => from_base64(&text),
        _ => return Err(unknown(&ctx, "encoding", &encoding)),
    };
    TypedArray::new(ctx, bytes)
}

fn digest<'js>(ctx: Ctx<'js>, algorithm: String, binary: String) -> Result<TypedArray<'js, u8>> {
    let bytes = bytes_of(&binary);
    let hash = match &*algorithm {
        "md5" => Md5::digest(bytes).to_vec(),
        "sha1" => Sha1::digest(bytes).to_vec(),
        "sha256" => Sha256::digest(bytes).to_vec(),
        _ => return Err(unknown(&ctx, "algorithm", &algorithm)),
    };
    TypedArray::new(ctx, hash)
}

fn authenticate<'js>(
    ctx: Ctx<'js>,
    algorithm: String,
    key: String,
    binary: String,
) -> Result<TypedArray<'js, u8>> {
    let (key, bytes) = (bytes_of(&key), bytes_of(&binary));
    let hash = match &*algorithm {
        "md5" => code::<Hmac<Md5>>(&key, &bytes),
        "sha1" => code::<Hmac<Sha1>>(&key, &bytes),
        "sha256" => code::<Hmac<Sha256>>(&key, &bytes),
        _ => return Err(unknown(&ctx, "algorithm", &algorithm)),
    };
    TypedArray::new(ctx, hash)
}

fn code<M: Mac + hmac::digest::KeyInit>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut code = <M as Mac>::new_from_slice(key).expect("a key of this kind may have any length");
    code.update(bytes);
    code.finalize().into_bytes().to_vec()
}

fn unknown(ctx: &Ctx<'_>, what: &str, name: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, &format!("not supported {what}: \"{name}\""))
}

fn base16(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("half a byte is a digit");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_base16(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.chunks_exact(2).map_while(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Both alphabets; what belongs to none of them does not count.
fn from_base64(text: &str) -> Vec<u8> {
    let end = text.find('=').unwrap_or(text.len());
    let kept = text.as_bytes()[..end].iter().filter_map(|&byte| match byte {
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        b'+' | b'/' => Some(byte),
        _ => byte.is_ascii_alphanumeric().then_some(byte),
    });
    let mut kept: Vec<u8> = kept.collect();
    // A single digit holds less than a byte.
    if kept.len() % 4 == 1 {
        kept.pop();
    }
    LENIENT.decode(kept).unwrap_or_default()
}
