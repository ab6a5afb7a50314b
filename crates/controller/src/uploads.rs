//! `/certificates` and `/js_modules`: contents that are uploaded apart from the configuration
//! (contract 3.4, 3.7 and 3.8).

use corral_config::json::{Bytes, Object, Value};
use corral_config::plan::{AssetKind, Assets};
use hyper::{Method, StatusCode};

use crate::api_request::ApiRequest;
use crate::bundle::PrivateKey;
use crate::query::Query;
use crate::reply::ApiReply;
use crate::state::{ChangeError, Controller};
use crate::{bundle, refusals, scripts};

/// All that was uploaded and can be used, with what is told about each.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    pub(crate) assets: Assets,
    certificates: Object,
    scripts: Object,
}

impl Uploads {
    /// Takes over what the state directory holds, but for what cannot be used.
    pub(crate) fn new(stored: &Assets) -> Self {
        let mut uploads = Self::default();
        for kind in [AssetKind::Certificate, AssetKind::Script] {
            for asset in stored.of_kind(kind) {
                match inspect(kind, &asset.name, &asset.bytes, PrivateKey::Stored) {
                    Ok(info) => uploads.set(kind, &asset.name, Some((asset.bytes.clone(), info))),
                    Err(error) => tracing::error!("stored {kind:?} \"{}\" is skipped: {error}", asset.name),
                }
            }
        }
        uploads
    }

    /// The descriptions of all assets of one kind.
    pub(crate) fn list(&self, kind: AssetKind) -> Value {
        Value::Object(self.of_kind(kind).clone())
    }

    fn of_kind(&self, kind: AssetKind) -> &Object {
        match kind {
            AssetKind::Certificate => &self.certificates,
            AssetKind::Script => &self.scripts,
        }
    }

    /// With one more, another in its place, or one fewer.
    pub(crate) fn with(&self, kind: AssetKind, name: &str, content: Option<(Vec<u8>, Value)>) -> Self {
        let Self { assets, certificates, scripts } = self;
        let (assets, certificates, scripts) = (assets.clone(), certificates.clone(), scripts.clone());
        let mut changed = Self { assets, certificates, scripts };
        changed.set(kind, name, content);
        changed
    }

    fn set(&mut self, kind: AssetKind, name: &str, content: Option<(Vec<u8>, Value)>) {
        let infos = match kind {
            AssetKind::Certificate => &mut self.certificates,
            AssetKind::Script => &mut self.scripts,
        };
        let bytes = match content {
            Some((bytes, info)) => {
                infos.insert(Bytes::from(name), info);
                Some(bytes)
            }
            None => {
                infos.shift_remove(name.as_bytes());
                None
            }
        };
        self.assets.set(kind, name, bytes);
    }
}

/// The description of a content, or the reason why it cannot be used.
fn inspect(kind: AssetKind, name: &str, bytes: &[u8], key: PrivateKey) -> Result<Value, String> {
    match kind {
        AssetKind::Certificate => bundle::inspect(bytes, key).map_err(|error| error.to_string()),
        AssetKind::Script => {
            scripts::check_module(name, bytes).map(|()| Value::String(Bytes::from(bytes.to_vec())))
        }
    }
}

/// Answers a request whose method the path has. `path` is empty, or a name and what is behind it.
pub(crate) async fn answer(
    controller: &Controller,
    kind: AssetKind,
    call: &ApiRequest<'_>,
    query: Query,
    path: &[Bytes],
) -> ApiReply {
    let texts = Texts::of(kind);
    let Some((name, rest)) = path.split_first() else {
        return ApiReply::value(controller.uploads().list(kind));
    };
    match *call.method {
        Method::GET | Method::HEAD => match controller.uploads().of_kind(kind).get(name) {
            Some(info) => ApiReply::part(info, rest),
            None => texts.missing(),
        },
        _ => {
            let Some(name) = name.to_str().filter(|name| is_name(name)) else {
                return texts.invalid_name();
            };
            let result = match *call.method {
                Method::DELETE => controller.remove(kind, name, query).await,
                _ => controller.upload(kind, name, call.body, query).await,
            };
            result.map_or_else(|error| texts.failed(&error), |done| texts.done(done))
        }
    }
}

/// Whether something may be called so: certificates and modules alike. A name is that of a file, and stands in log
/// lines.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && !name.chars().any(char::is_control)
}

/// Bytes of a file's name.
const MAX_NAME: usize = 255;

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadDone {
    Uploaded,
    Removed,
    /// The request would have succeeded.
    Checked,
}

/// Why it was not done.
#[derive(Debug)]
pub(crate) enum UploadError {
    Exists,
    Missing,
    InUse,
    Invalid(String),
    /// The configuration cannot be in force with it.
    NotApplied(ChangeError),
    Store(String),
}

impl Controller {
    async fn upload(
        &self,
        kind: AssetKind,
        name: &str,
        bytes: &[u8],
        query: Query,
    ) -> Result<UploadDone, UploadError> {
        let mut changing = self.changing().await;
        let exists = self.uploads().of_kind(kind).contains_key(name.as_bytes());
        if exists && !query.replace {
            return Err(UploadError::Exists);
        }
        let key = if query.ca { PrivateKey::Optional } else { PrivateKey::Required };
        let info = inspect(kind, name, bytes, key).map_err(UploadError::Invalid)?;
        if query.dry_run {
            return Ok(UploadDone::Checked);
        }
        let uploads = self.uploads().with(kind, name, Some((bytes.to_vec(), info)));
        let in_use = self.in_force().names.of_kind(kind).contains(name);
        if in_use {
            changing.apply_again(&uploads).await.map_err(UploadError::NotApplied)?;
        }
        if let Err(error) = self.main().store_asset(kind, name.to_owned(), Some(bytes.to_vec())).await {
            if in_use && let Err(error) = changing.apply_again(&self.uploads()).await {
                tracing::error!("use the old \"{name}\" again: {error}");
            }
            return Err(UploadError::Store(error.to_string()));
        }
        self.set_uploads(uploads);
        Ok(UploadDone::Uploaded)
    }

    async fn remove(&self, kind: AssetKind, name: &str, query: Query) -> Result<UploadDone, UploadError> {
        let _changing = self.changing().await;
        if !self.uploads().of_kind(kind).contains_key(name.as_bytes()) {
            return Err(UploadError::Missing);
        }
        if self.in_force().names.of_kind(kind).contains(name) {
            return Err(UploadError::InUse);
        }
        if query.dry_run {
            return Ok(UploadDone::Checked);
        }
        let stored = self.main().store_asset(kind, name.to_owned(), None).await;
        stored.map_err(|error| UploadError::Store(error.to_string()))?;
        self.set_uploads(self.uploads().with(kind, name, None));
        Ok(UploadDone::Removed)
    }
}

/// The replies about one kind.
#[derive(Debug)]
pub(crate) struct Texts {
    uploaded: &'static str,
    removed: &'static str,
    exists: &'static str,
    invalid: &'static str,
    invalid_name: &'static str,
    in_use: &'static str,
    missing: &'static str,
    not_stored: &'static str,
}

impl Texts {
    pub(crate) fn of(kind: AssetKind) -> &'static Self {
        match kind {
            AssetKind::Certificate => &CERTIFICATES,
            AssetKind::Script => &SCRIPTS,
        }
    }

    pub(crate) fn invalid_name(&self) -> ApiReply {
        ApiReply::error(StatusCode::BAD_REQUEST, self.invalid_name)
    }

    fn missing(&self) -> ApiReply {
        ApiReply::error(StatusCode::NOT_FOUND, self.missing)
    }

    fn done(&self, done: UploadDone) -> ApiReply {
        ApiReply::success(match done {
            UploadDone::Uploaded => self.uploaded,
            UploadDone::Removed => self.removed,
            UploadDone::Checked => "The request is valid; nothing has been changed.",
        })
    }

    fn failed(&self, error: &UploadError) -> ApiReply {
        let bad = |title| ApiReply::error(StatusCode::BAD_REQUEST, title);
        match error {
            UploadError::Exists => bad(self.exists),
            UploadError::Missing => self.missing(),
            UploadError::InUse => bad(self.in_use),
            UploadError::Invalid(detail) => {
                ApiReply::error_with_detail(StatusCode::BAD_REQUEST, self.invalid, detail)
            }
            UploadError::NotApplied(error) => refusals::not_changed(error),
            UploadError::Store(reason) => {
                ApiReply::error_with_detail(StatusCode::INTERNAL_SERVER_ERROR, self.not_stored, reason)
            }
        }
    }
}

const CERTIFICATES: Texts = Texts {
    uploaded: "Certificate chain uploaded.",
    removed: "Certificate deleted.",
    exists: "Certificate already exists.",
    invalid: "Invalid certificate.",
    invalid_name: "Invalid certificate name.",
    in_use: "Certificate is used in the configuration.",
    missing: "Certificate doesn't exist.",
    not_stored: "Failed to store certificate.",
};

const SCRIPTS: Texts = Texts {
    uploaded: "JS module uploaded.",
    removed: "JS module deleted.",
    exists: "JS module already exists.",
    invalid: "Invalid JS module.",
    invalid_name: "Invalid JS module name.",
    in_use: "JS module is used in the configuration.",
    missing: "JS module doesn't exist.",
    not_stored: "Failed to store script.",
};
