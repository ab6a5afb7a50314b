//! The server that a request is given to: chosen, or waited for while all of them have as many requests as they may.

use std::pin::pin;
use std::time::Duration;

use corral_ipc::message::Refusal;

use super::shown::shown;
use crate::clock::Millis;
use crate::clock::deadline::Elapsed;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::upstream::{LoopGroup, Place, PlaceFuture, ServerAdmission, ServerWish};

/// A waiting request looks again after this time whether it can go on without being told: a server may have come back,
/// and places of an earlier configuration be free.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Seconds after which a client may try again.
const RETRY_AFTER: u32 = 1;

/// Why a request gets no server.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum NotAdmitted {
    #[error("no server is available")]
    Absent,
    #[error("all servers have as many requests as they may, and the queue is full")]
    Full,
    #[error("no server has had room for one more request within {0:?}")]
    TimedOut(Duration),
}

impl NotAdmitted {
    /// The status of the reply.
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Absent => 502,
            Self::Full | Self::TimedOut(_) => 503,
        }
    }

    /// The reason for which the request is refused.
    fn refusal(self) -> Refusal {
        match self {
            Self::Absent => Refusal::NoServer,
            Self::Full => Refusal::QueueFull,
            Self::TimedOut(_) => Refusal::QueueTimeout,
        }
    }

    /// Logs it, and answers with an error page.
    pub(super) async fn answer(
        self,
        response: &mut ResponseWriter<'_, '_>,
        group: &LoopGroup,
    ) -> Result<(), Gone> {
        let group = &group.shared;
        if let Some(suppressed) = group.throttle.admit(Millis::of(response.now())) {
            let (title, request) = (group.title(None), shown(response.request));
            tracing::error!("{title}: {self}, request \"{request}\"{suppressed}");
        }
        response.reply.refuse(self.refusal());
        if self.status() == 503 {
            response.reply.retry_after = Some(RETRY_AFTER);
        }
        response.send_error(self.status()).await
    }
}

/// A server, and the place there that the request takes until it is over.
pub(super) type Admitted = (usize, Option<Place>);

/// A server for the request, which may have to wait for it.
pub(super) async fn admit(
    response: &ResponseWriter<'_, '_>,
    group: &LoopGroup,
    wish: ServerWish<'_>,
) -> Result<Result<Admitted, NotAdmitted>, Gone> {
    match group.admit(&wish) {
        ServerAdmission::Granted(server, place) => Ok(Ok((server, place))),
        ServerAdmission::Full => Ok(Err(NotAdmitted::Full)),
        ServerAdmission::Absent => Ok(Err(NotAdmitted::Absent)),
        // In a box of its own, as few requests wait.
        ServerAdmission::Waits(waiting) => Box::pin(wait(response, group, wish, waiting)).await,
    }
}

async fn wait(
    response: &ResponseWriter<'_, '_>,
    group: &LoopGroup,
    wish: ServerWish<'_>,
    mut waiting: PlaceFuture,
) -> Result<Result<Admitted, NotAdmitted>, Gone> {
    let limit = group.shared.places.as_ref().map_or(Duration::ZERO, |places| places.timeout);
    let due = response.now() + limit;
    loop {
        let left = due.saturating_duration_since(response.now());
        if left.is_zero() {
            return Ok(Err(NotAdmitted::TimedOut(limit)));
        }
        let place = pin!(async {
            tokio::select! {
                biased;
                (server, place) = waiting.place() => Ok((server, Some(place))),
                () = response.presence().left_waiting() => Err(Gone),
            }
        });
        match response.client.deadline.limit(left.min(LOOK_AGAIN), place).await {
            Ok(admitted) => return admitted.map(Ok),
            Err(Elapsed) => {
                let wish = ServerWish { now: response.now(), ..wish };
                if let Some(admitted) = group.admit_again(&wish) {
                    return Ok(Ok(admitted));
                }
            }
        }
    }
}
