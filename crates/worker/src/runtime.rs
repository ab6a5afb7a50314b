//! The interface that a language has to implement, and the one by which it answers a request.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use corral_channel::message::{Malformed, RequestView};
use corral_config::plan::AppSpec;
use corral_sys::spawn::{self, Fork};

use crate::async_channel::AsyncChannel;
use crate::client_gone::ClientGone;
use crate::file::FileRest;

/// An interpreter with an application in it.
pub trait Runtime {
    /// Called in the prototype before each fork.
    fn before_fork(&mut self) {}

    /// Called in the prototype after each fork, also when that failed.
    fn after_fork(&mut self) {}

    /// Copies the process. Called in the prototype, between the two above.
    ///
    /// # Errors
    /// When the system, or an interpreter's hook, refuses.
    fn fork(&mut self) -> io::Result<Fork> {
        spawn::fork()
    }

    /// Called once in each new worker, before everything else.
    fn forked(&mut self) {}

    /// Whether a worker has something to do before it takes requests. One that has is given none until
    /// [`Runtime::start`] has ended, and its failure is reported; one that has not is used at once.
    fn has_start(&self) -> bool {
        false
    }

    /// Gets ready for requests in a new worker.
    ///
    /// # Errors
    /// When the application cannot be used; the worker ends, and this is why.
    fn start(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Whether a worker has something to do before it is gone, also when its prototype ends it: it has a second for
    /// that.
    fn has_end(&self) -> bool {
        false
    }

    /// Called once in a worker that leaves, after its last request.
    fn end(&mut self) {}

    /// Whether a worker may turn out to run its requests in an event loop.
    fn may_loop(&self) -> bool {
        false
    }

    /// Whether the router is to be given descriptors: of files that responses end with, which it sends by itself, and
    /// of sockets by which the application has clients' connections.
    fn sends_files(&self) -> bool {
        false
    }

    /// The event loop that serves in its place, many requests at once; asked after [`Runtime::start`].
    fn event_loop(&mut self) -> Option<&mut dyn EventLoop> {
        None
    }

    /// Waits for the next request by calling `wait` once. An interpreter whose threads take turns lets others run.
    fn idle(&mut self, wait: &mut dyn FnMut()) {
        wait();
    }

    /// Answers one request. What is not answered when it returns is answered with 500.
    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd;

    /// The application that serves in its place, because it stays in memory and asks for its requests. A runtime with
    /// one [has a start](Runtime::has_start), which ends when the application asks for the first time.
    fn worker_script(&mut self) -> Option<&mut dyn WorkerScript> {
        None
    }

    /// The threads that serve in its place, several requests at once; asked once, after [`Runtime::start`].
    fn threads(&mut self) -> Option<&mut dyn WorkerThreads> {
        None
    }
}

/// An interpreter that is loaded, and could load any application of a kind.
pub trait Image {
    /// Files and folders that it was loaded from, apart from shared libraries.
    fn files(&self) -> Vec<PathBuf>;

    /// Whether its applications have said that they trust each other with memory that all of them can write to.
    fn shares_memory(&self) -> bool;

    /// Loads an application, in a copy of the process that has loaded the interpreter.
    ///
    /// # Errors
    /// When it cannot be loaded: why.
    fn load(self: Box<Self>, spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>>;
}

/// An interpreter whose requests take turns in one thread.
pub trait EventLoop {
    /// How many requests it runs at once.
    fn concurrency(&self) -> NonZeroU32;

    /// Serves what comes through the channel until [`AsyncChannel::is_over`].
    fn run(&mut self, channel: AsyncChannel);
}

/// An application that runs once in a worker, and asks for requests itself.
pub trait WorkerScript {
    /// Runs it until it ends.
    ///
    /// # Errors
    /// When it ended before there were no more requests, or has never asked for one: why.
    fn run(&mut self, requests: &mut dyn Requests) -> anyhow::Result<()>;
}

/// Answers a request; [`Runtime::serve`] says how.
pub type Serve<'a> = dyn FnMut(&RequestView<'_>, &mut dyn Exchange) -> RequestEnd + 'a;

/// The requests of a resident application.
pub trait Requests {
    /// Waits for one and has `serve` answer it. False when there will be none: the application is to end.
    fn next(&mut self, serve: &mut Serve<'_>) -> bool;
}

/// The threads of a worker, which answer requests at the same time.
pub trait WorkerThreads {
    /// Has each of them live `life`, and returns when all have.
    fn run(&mut self, life: &dyn ThreadLoop);
}

/// The loop of each of these threads.
pub trait ThreadLoop: Sync {
    /// Takes requests, and has `server` answer them, until the worker leaves.
    fn live(&self, server: &mut dyn Server);

    /// Has the worker leave: each thread ends when it has answered its request.
    fn leave(&self);
}

/// Answers the requests of one thread.
pub trait Server {
    /// As [`Runtime::serve`].
    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd;
}

/// The state of the worker after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestEnd {
    /// The worker takes the next one.
    Done,
    /// The interpreter should not be used again; the worker leaves and is replaced.
    Leave,
}

/// The running request: its body, and the way of its response. May be used by another thread while the one that
/// serves waits for it.
pub trait Exchange: Send {
    /// Reads some of the request's body; 0 is its end. Waits for the client if it has to.
    ///
    /// # Errors
    /// `ConnectionAborted` when the rest will not come.
    fn read_body(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// The unread part of the request's body that came along with its head, and whether that is all there is.
    fn body_at_hand(&self) -> (&[u8], bool);

    /// Takes so many of the bytes [at hand](Exchange::body_at_hand) for read.
    fn skip_body(&mut self, n: usize);

    /// Sends an informational response, 102 to 199, at once. Without effect when the response has begun.
    ///
    /// # Errors
    /// For another status, and for fields that no response can have.
    fn inform(&mut self, status: u16, fields: &[(&[u8], &[u8])]) -> Result<(), Malformed>;

    /// Begins the response. Only the first call counts. Names must be tokens and values free of
    /// CR, LF and NUL, or the router answers 503.
    fn respond(&mut self, status: u16, fields: &[(&[u8], &[u8])]);

    /// Begins a response that the application has no part in: the client gets the page that the configuration has for
    /// this error, if it has one, or the server's.
    fn refuse(&mut self, status: u16);

    /// Adds to the response's body, all of it. Waits while the client is slow.
    ///
    /// # Errors
    /// When the response is not read any more; nothing more needs to be written then. A call without bytes finds that
    /// out, too.
    fn write(&mut self, bytes: &[u8]) -> Result<(), ClientGone>;

    /// Ends the response with a part of a file, which is the rest of its body. The file is not needed any more then,
    /// but must not be changed. False when the router cannot have it: then `write` what is in it.
    ///
    /// # Errors
    /// As for `write`.
    fn send_file(&mut self, file: &FileRest<'_>) -> Result<bool, ClientGone>;

    /// Sends what was collected. Without it, small pieces wait for more.
    fn flush(&mut self);

    /// Whether `write` of so many bytes returns at once, because they are only collected.
    fn collects(&self, n_bytes: usize) -> bool;

    /// Ends the response; the request goes on without a client, and the worker stays busy.
    fn finish(&mut self);

    /// The response cannot be completed. The client gets what was written so far and sees that there
    /// should be more; without a head, an error.
    fn abort(&mut self);

    /// Whether the response is not read any more.
    fn client_gone(&mut self) -> bool;

    /// Takes the client's connection over, before there is a response: nothing else of the exchange has an effect after
    /// that. What is written to the socket goes to the client as it is, what the client sends behind its request can be
    /// read there, and the connection ends with it. It outlives the request, and the worker stays as long as it does.
    ///
    /// # Errors
    /// `EALREADY` when the response has begun, `EPIPE` when the client is gone, `EAGAIN` when the router cannot have
    /// the socket, or those of the system.
    fn hijack(&mut self) -> io::Result<OwnedFd>;

    /// Tells which kinds of state the request leaves behind in this process, a bit each, for the figures of the
    /// application. At most once, when the request has ended.
    fn leave_state(&mut self, kinds: u32);

    /// Tells the router where the request is at this moment, the innermost call first. Never waits: without room for
    /// it, the text is dropped. A long one is cut.
    fn trace(&mut self, text: &[u8]);

    /// Tells the router what is being done, for its log should this worker die now.
    fn note(&mut self, text: &[u8]);
}
