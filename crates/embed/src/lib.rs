//! The interface of interpreters in C to a request: the Rust side of `include/`.
//!
//! The shim of a language is compiled against that header; its host passes [`HOST`] at the start and each request
//! through [`Requests::serve`].

mod callbacks;
mod ffi;

use corral_channel::message::{RequestView, params};
use corral_worker::cgi::Variables;
use corral_worker::{Call, Exchange, RequestEnd};

pub use self::callbacks::{HOST, bytes, call_of};
pub use self::ffi::{Field, Host, Outcome, Request, Slice};

/// Requests of one worker, one after the other.
#[derive(Default)]
pub struct Requests {
    variables: Variables,
    fields: Vec<Field>,
}

impl Requests {
    /// Has the interpreter answer a request. What it leaves unanswered is answered with 500.
    pub fn serve(
        &mut self,
        view: &RequestView<'_>,
        exchange: &mut dyn Exchange,
        run: impl FnOnce(&Request) -> Outcome,
    ) -> RequestEnd {
        self.variables.describe(&view.head, view.fields);
        self.fields.clear();
        let own = view.head.params;
        let variables = self.variables.iter().filter(|(name, _)| !params::has(own, name));
        let own = params::iter(own).filter_map(|(name, value)| Some((name, value?)));
        let all = variables.chain(own);
        self.fields.extend(all.map(|(name, value)| Field { name: name.into(), value: value.into() }));
        let mut call = Call::new(exchange);
        let request = Request {
            call: call.as_ptr(),
            variables: self.fields.as_ptr(),
            n_variables: self.fields.len(),
            content_length: view.head.content_length.unwrap_or(0),
            https: view.head.tls.into(),
        };
        let outcome = run(&request);
        let (exchange, responded) = call.finish();
        if !responded {
            exchange.refuse(500);
        }
        match outcome {
            Outcome::Served => RequestEnd::Done,
            Outcome::Leaves => RequestEnd::Leave,
        }
    }
}
