//! A configuration that comes from files: what they say replaces what is in force, and the API reads
//! it without changing it.

use corral_config::json;
use hyper::{Method, StatusCode};

use crate::api_request::ApiRequest;
use crate::endpoints::ApiResource;
use crate::main_link::{Replacement, Replacements};
use crate::query::Query;
use crate::reply::ApiReply;
use crate::state::{ChangeError, Controller};

/// Puts in force what the files say, each time that they were read; never ends otherwise. What was read before and is
/// not in force yet is given up.
pub(crate) async fn follow(controller: &Controller, mut replacements: Replacements) {
    while let Some(replacement) = replacements.recv().await {
        tokio::spawn(put_in_force(controller.clone(), replacement));
    }
    // The link to main is closed, which ends this process.
    std::future::pending::<()>().await;
}

async fn put_in_force(controller: Controller, replacement: Replacement) {
    let Replacement { document, inserted, assets } = replacement;
    let Ok(document) = json::parse(&document) else {
        tracing::error!(target: "alert", "main sent a document of configuration files that is not JSON");
        return;
    };
    match controller.replace(document, inserted, &assets).await {
        Ok(()) => tracing::info!(target: "notice", "the configuration files are in force"),
        Err(error) => log(&error),
    }
}

fn log(error: &ChangeError) {
    match error {
        ChangeError::Invalid(problems) => {
            for problem in problems {
                tracing::error!("the configuration files are invalid: {problem}");
            }
        }
        ChangeError::Superseded => {
            tracing::info!(target: "notice", "what the configuration files said is not put in force: {error}");
        }
        ChangeError::NotApplied(error) => tracing::error!("failed to apply the configuration files: {error}"),
        error => tracing::error!("the configuration files are invalid: {error}"),
    }
}

/// The answer to a change of what belongs to the files; a change that is only tried is none.
pub(crate) fn refusal(
    controller: &Controller,
    call: &ApiRequest<'_>,
    resource: ApiResource,
    query: Query,
) -> Option<ApiReply> {
    let files = controller.files_to_change()?;
    let is_change = matches!(*call.method, Method::PUT | Method::POST | Method::DELETE);
    let belongs_to_files = matches!(
        resource,
        ApiResource::Config | ApiResource::History | ApiResource::Certificates | ApiResource::Scripts
    );
    if !is_change || !belongs_to_files || query.dry_run {
        return None;
    }
    let detail = format!(
        "The configuration comes from {files}. Change it there, then send SIGHUP to the daemon; the option \
         \"--config-writable\" would permit changes here."
    );
    Some(ApiReply::error_with_detail(StatusCode::FORBIDDEN, "The configuration is read-only.", &detail))
}
