//! One request on its stream, until its answer is whole.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Task, Poll};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{ResponseFuture, SendRequest};

use super::Context;
use crate::clock::Nanos;
use crate::expect::BodyCheck;
use crate::failure::Failure;
use crate::outcome::{Job, Marks, Outcome};
use crate::requests::Form;

/// How far a request is.
pub(super) enum Progress {
    Pending,
    Whole(Outcome),
    Failed(h2::Error),
}

pub(super) struct Stream {
    pub(super) job: Job,
    pub(super) marks: Marks,
    receiving: Receiving,
    status: u16,
    body: BodyCheck,
    size_out: u64,
}

enum Receiving {
    Head(ResponseFuture),
    Body(RecvStream),
}

impl Stream {
    /// Hands a request over. Its sizes in raw data are those of bodies, as heads are compressed.
    pub(super) fn open(
        sender: &mut SendRequest<Bytes>,
        job: Job,
        mut marks: Marks,
        cx: &Context,
    ) -> Result<Self, h2::Error> {
        let Form::Http2 { head, body } = &cx.requests.list[job.request].form else {
            return Err(h2::Reason::INTERNAL_ERROR.into());
        };
        let (answer, mut body_sender) = sender.send_request((**head).clone(), body.is_empty())?;
        if !body.is_empty() {
            body_sender.send_data(body.clone(), true)?;
        }
        marks.sent = cx.clock.now();
        let size_out = body.len() as u64;
        Ok(Self {
            job,
            marks,
            receiving: Receiving::Head(answer),
            status: 0,
            body: BodyCheck::default(),
            size_out,
        })
    }

    pub(super) fn poll(&mut self, task: &mut Task<'_>, cx: &Context) -> Progress {
        loop {
            match &mut self.receiving {
                Receiving::Head(answer) => match Pin::new(answer).poll(task) {
                    Poll::Pending => return Progress::Pending,
                    Poll::Ready(Err(error)) => return Progress::Failed(error),
                    Poll::Ready(Ok(answer)) => {
                        self.marks.answered = cx.clock.now();
                        self.status = answer.status().as_u16();
                        self.receiving = Receiving::Body(answer.into_body());
                    }
                },
                Receiving::Body(body) => match body.poll_data(task) {
                    Poll::Pending => return Progress::Pending,
                    Poll::Ready(Some(Err(error))) => return Progress::Failed(error),
                    Poll::Ready(Some(Ok(data))) => {
                        self.body.take(&data, &cx.expectation);
                        // An error here is one of the stream, which the next poll returns.
                        drop(body.flow_control().release_capacity(data.len()));
                    }
                    Poll::Ready(None) => return Progress::Whole(self.outcome(cx)),
                },
            }
        }
    }

    fn outcome(&self, cx: &Context) -> Outcome {
        Outcome {
            job: self.job,
            marks: self.marks,
            end: cx.clock.now(),
            failure: cx.expectation.fault(self.status, &self.body),
            status: self.status,
            size_out: self.size_out,
            size_in: self.body.size(),
        }
    }

    pub(super) fn failed(self, failure: Failure, end: Nanos) -> Outcome {
        let failed = Outcome::failed(self.job, self.marks, end, failure);
        Outcome { status: self.status, size_out: self.size_out, size_in: self.body.size(), ..failed }
    }
}
