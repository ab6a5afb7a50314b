//! Frames of a response by the application's words and by those of the router. No bytes, only how many there are.

use corral_channel::{INITIAL_CREDIT, Lane, RequestId};

use super::*;

const MAX_PAYLOAD: usize = 1000;
const RAN: Duration = Duration::from_micros(7);

/// A response with its client, and with a buffer for heads.
struct Pair {
    response: ResponseState,
    client: ClientState,
    head: Vec<u8>,
}

impl Pair {
    fn new(method: &str) -> Self {
        let request = FrameHead::new(FrameKind::Request, Lane(1), RequestId(2));
        let response = ResponseState::new(request, method.as_bytes());
        Self { response, client: ClientState::new(), head: Vec::new() }
    }

    /// A response that has begun with this status, of whose body so many bytes may be sent.
    fn begun(method: &str, status: u16, credit: u32) -> Self {
        let mut pair = Self::new(method);
        pair.set_credit(credit);
        assert!(pair.response.respond(&mut pair.head, status, &[], MAX_PAYLOAD));
        pair
    }

    /// The same whose head is sent.
    fn head_sent(credit: u32) -> Self {
        let mut pair = Self::begun("GET", 200, credit);
        pair.check(0, 0, "Response h+0");
        pair
    }

    fn set_credit(&mut self, credit: u32) {
        self.client.spend(usize::try_from(self.client.credit()).unwrap());
        self.take(FrameKind::Credit, credit);
    }

    fn take(&mut self, kind: FrameKind, aux: u32) {
        self.client.take_frame(&FrameHead::new(kind, Lane(1), RequestId(2)).with_aux(aux));
    }

    fn next(&self, n_body: usize, n_trailers: usize) -> Option<NextFrame> {
        let n_response = self.response.n_head() + n_body;
        let pending = PendingBytes { n_informational: 0, n_response, n_trailers };
        self.response.next_frame(&pending, &self.client, MAX_PAYLOAD)
    }

    /// Sends a frame, which is this: its kind, its bytes without the head, its flags, `aux`.
    #[track_caller]
    fn send(&mut self, next: Option<NextFrame>, expected: &str) {
        let found = next.map_or("nothing".to_owned(), |next| self.describe(&next));
        assert_eq!(found, expected);
        if let Some(next) = next {
            assert_eq!((next.frame.lane, next.frame.request), (Lane(1), RequestId(2)));
            self.response.sent(&next, &mut self.client);
        }
    }

    /// Sends the next frame of so many bytes that are pending.
    #[track_caller]
    fn check(&mut self, n_body: usize, n_trailers: usize, expected: &str) {
        self.send(self.next(n_body, n_trailers), expected);
    }

    fn describe(&self, next: &NextFrame) -> String {
        let NextFrame { frame, n_bytes } = next;
        let mut text = match frame.kind {
            FrameKind::Response => format!("Response h+{}", n_bytes - self.head.len()),
            kind => format!("{kind:?} {n_bytes}"),
        };
        for (flag, name) in [(Flags::END, " end"), (Flags::DONE, " done"), (Flags::LAST, " last")] {
            if frame.flags.contains(flag) {
                text += name;
            }
        }
        if frame.aux > 0 {
            text += &format!(" {}", frame.aux);
        }
        text
    }

    fn end_request(&mut self) {
        self.response.end_request(RAN, After::Another);
    }
}

#[test]
fn head_body_and_end_go_in_one_frame() {
    let mut it = Pair::begun("GET", 200, 100);
    it.end_request();
    it.check(100, 0, "Response h+100 end done 7");
    assert!(it.response.is_done());
    it.check(0, 0, "nothing");
}

#[test]
fn the_last_request_says_so_with_its_last_frame() {
    let mut it = Pair::begun("GET", 200, 100);
    it.response.end_request(RAN, After::Nothing);
    it.check(5, 0, "Response h+5 end done last 7");
    let mut it = Pair::begun("GET", 200, 100);
    it.response.end_response();
    it.check(5, 0, "Response h+5 end");
    it.response.end_request(RAN, After::Nothing);
    it.check(0, 0, "Finished 0 done last 7");
}

#[test]
fn a_head_needs_no_credit_and_a_body_does() {
    let mut it = Pair::begun("GET", 200, 0);
    it.end_request();
    it.check(10, 0, "Response h+0");
    it.check(10, 0, "nothing");
    it.take(FrameKind::Credit, 4);
    it.check(10, 0, "Data 4");
    assert_eq!(it.client.credit(), 0);
    it.check(6, 0, "nothing");
    it.take(FrameKind::Credit, 6);
    it.check(6, 0, "Data 6 end done 7");
}

#[test]
fn a_frame_has_only_so_much_room() {
    let mut it = Pair::begun("GET", 200, 5000);
    let n_behind_head = MAX_PAYLOAD - it.head.len();
    it.response.end_response();
    it.check(2000, 0, &format!("Response h+{n_behind_head}"));
    it.check(2000 - n_behind_head, 0, "Data 1000");
    it.check(1000 - n_behind_head, 0, &format!("Data {} end", 1000 - n_behind_head));
    assert_eq!(it.client.credit(), 3000);
}

#[test]
fn a_head_that_is_too_long_is_an_error() {
    let mut it = Pair::new("GET");
    let long = [b'x'; MAX_PAYLOAD];
    assert!(!it.response.respond(&mut it.head, 200, &[(b"A", &long)], MAX_PAYLOAD));
    assert_eq!(message::decode_response(&it.head).unwrap().0.status, 500);
    assert_eq!(it.response.n_head(), it.head.len());
    let mut it = Pair::new("GET");
    assert!(it.response.inform(&mut it.head, 103, &[(b"Link", &long)], MAX_PAYLOAD).is_ok());
    assert_eq!((it.head.len(), it.response.phase()), (0, ResponsePhase::Silent));
}

#[test]
fn a_head_that_fills_its_frame_goes_alone() {
    let mut it = Pair::new("GET");
    let empty = {
        let mut head = Vec::new();
        message::encode_response(&mut head, 200, [(&b"A"[..], &b""[..])]);
        head.len()
    };
    let value = vec![b'x'; MAX_PAYLOAD - empty];
    assert!(it.response.respond(&mut it.head, 200, &[(b"A", &value)], MAX_PAYLOAD));
    it.end_request();
    it.check(3, 0, "Response h+0");
    it.check(3, 0, "Data 3 end done 7");
}

#[test]
fn some_responses_have_no_body() {
    for (method, status, expected) in [("HEAD", 200, true), ("GET", 204, true), ("GET", 304, true)] {
        assert_eq!(Pair::begun(method, status, 0).response.is_bodiless(), expected);
    }
    let mut it = Pair::begun("HEAD", 200, 0);
    it.end_request();
    it.check(0, 0, "Response h+0 end done 7");
    assert!(!Pair::begun("GET", 200, 0).response.is_bodiless());
}

#[test]
fn an_informational_response_is_sent_whole_or_not_yet() {
    let mut it = Pair::new("GET");
    it.response.inform(&mut it.head, 103, &[(b"Link", b"</a>")], MAX_PAYLOAD).unwrap();
    let len = it.head.len();
    let pending = PendingBytes { n_informational: len, ..PendingBytes::default() };
    it.set_credit(len as u32 - 1);
    it.send(it.response.next_frame(&pending, &it.client, MAX_PAYLOAD), "nothing");
    it.take(FrameKind::Credit, 1);
    it.send(it.response.next_frame(&pending, &it.client, MAX_PAYLOAD), &format!("Informational {len}"));
    assert_eq!(it.client.credit(), 0);
}

#[test]
fn an_informational_response_is_in_front_of_the_head_or_nowhere() {
    let mut it = Pair::begun("GET", 200, 1000);
    let mut late = Vec::new();
    it.response.inform(&mut late, 103, &[], MAX_PAYLOAD).unwrap();
    // What no client may see is not even looked at.
    it.response.inform(&mut late, 101, &[], MAX_PAYLOAD).unwrap();
    assert_eq!(late, b"");
    it.end_request();
    let pending = PendingBytes { n_informational: 30, n_response: it.head.len(), n_trailers: 0 };
    it.send(it.response.next_frame(&pending, &it.client, MAX_PAYLOAD), "Informational 30");
    it.check(0, 0, "Response h+0 end done 7");
    let refused = Pair::new("GET").response.inform(&mut late, 101, &[], MAX_PAYLOAD);
    assert_eq!(refused, Err(Malformed::Status { status: 101 }));
}

#[test]
fn trailers_come_behind_the_body_with_credit() {
    let mut it = Pair::begun("GET", 200, 4);
    it.response.end_response();
    it.check(4, 20, "Response h+4");
    it.check(0, 20, "nothing");
    it.take(FrameKind::Credit, 20);
    it.check(0, 20, "Trailers 20");
    it.check(0, 0, "End 0 end");
    it.end_request();
    it.check(0, 0, "Finished 0 done 7");
}

#[test]
fn a_request_that_ends_before_its_trailers_are_sent() {
    let mut it = Pair::begun("GET", 200, 100);
    it.end_request();
    it.check(4, 20, "Response h+4");
    it.check(0, 20, "Trailers 20");
    it.check(0, 0, "End 0 end done 7");
}

#[test]
fn a_response_ends_once() {
    let mut it = Pair::begun("GET", 200, 100);
    it.check(3, 0, "Response h+3");
    it.response.end_response();
    it.check(0, 0, "End 0 end");
    it.response.end_response();
    it.response.abort();
    it.check(0, 0, "nothing");
    assert_eq!(it.response.phase(), ResponsePhase::Ended);
    it.end_request();
    it.end_request();
    it.check(0, 0, "Finished 0 done 7");
    it.end_request();
    it.check(0, 0, "nothing");
}

#[test]
fn an_end_that_could_not_be_sent_is_said_again() {
    let mut it = Pair::begun("GET", 200, 0);
    it.response.end_response();
    it.response.reopen();
    assert_eq!(it.response.phase(), ResponsePhase::Begun);
    it.end_request();
    it.check(0, 0, "Response h+0 end done 7");
    it.response.reopen();
    assert_eq!(it.response.phase(), ResponsePhase::Ended);
}

#[test]
fn a_response_that_breaks_off_has_failed() {
    let mut it = Pair::begun("GET", 200, 100);
    it.response.abort();
    assert!(it.response.is_cut());
    it.check(5, 0, "Response h+5");
    it.check(0, 0, "nothing");
    it.response.end_response();
    it.end_request();
    it.check(0, 0, "Failed 0 end done 7");
    let mut it = Pair::new("GET");
    it.response.abort();
    it.response.end_request(RAN, After::Nothing);
    it.check(0, 0, "Failed 0 end done last 7");
}

#[test]
fn a_head_that_was_not_sent_can_be_replaced() {
    let mut it = Pair::begun("GET", 200, 100);
    assert!(it.response.take_head_back());
    assert_eq!((it.response.phase(), it.response.n_head()), (ResponsePhase::Silent, 0));
    it.head.clear();
    it.response.respond(&mut it.head, 500, &[], MAX_PAYLOAD);
    it.end_request();
    it.check(0, 0, "Response h+0 end done 7");
    assert!(Pair::new("GET").response.take_head_back());
    assert!(!Pair::head_sent(0).response.take_head_back());
    let mut whole = Pair::begun("GET", 200, 0);
    whole.response.end_response();
    assert!(!whole.response.take_head_back());
}

#[test]
fn a_cancelled_request_ends_without_its_response() {
    let mut it = Pair::begun("GET", 200, 100);
    it.take(FrameKind::Cancel, 0);
    assert!(it.client.is_gone());
    it.response.drop_pending();
    it.response.end_response();
    it.check(0, 0, "nothing");
    it.end_request();
    it.check(0, 0, "End 0 end done 7");
    let mut it = Pair::head_sent(0);
    it.take(FrameKind::Cancel, 0);
    it.take(FrameKind::Left, 0);
    assert!(it.client.is_gone() && !it.client.has_left());
    it.end_request();
    it.check(0, 0, "End 0 end done 7");
}

#[test]
fn a_client_that_has_left_is_given_up_when_it_gets_nothing() {
    let mut it = Pair::head_sent(100);
    it.response.begin_silence_earlier();
    assert!(!it.response.is_silent_for_long(&it.client), "it may be waiting");
    it.take(FrameKind::Left, 0);
    assert!(it.response.is_silent_for_long(&it.client));
    it.response.speak();
    assert!(!it.response.is_silent_for_long(&it.client), "only now it begins");
    it.response.give_up();
    it.client.cancel();
    assert_eq!(it.response.phase(), ResponsePhase::Begun);
    it.end_request();
    it.check(0, 0, "Failed 0 end done 7");
}

#[test]
fn a_file_goes_with_what_is_pending_if_that_fits() {
    let mut it = Pair::begun("GET", 200, 10);
    let n_head = it.head.len();
    let file = |it: &Pair, n_bytes, ends| it.response.file_frame(n_bytes, ends, &it.client, MAX_PAYLOAD);
    assert_eq!(file(&it, n_head + 11, true), None);
    it.take(FrameKind::Credit, 2000);
    assert_eq!(file(&it, MAX_PAYLOAD, true), None);
    assert!(file(&it, MAX_PAYLOAD - message::FilePart::SIZE, true).is_some());
    it.send(file(&it, n_head + 10, false), "Response h+10");
    assert_eq!(it.response.phase(), ResponsePhase::Begun);
    it.send(file(&it, 0, true), "Data 0 end");
    assert_eq!((it.response.phase(), it.client.credit()), (ResponsePhase::Ended, 2000));
    it.end_request();
    it.check(0, 0, "Finished 0 done 7");
    it.take(FrameKind::Cancel, 0);
    assert_eq!(file(&it, 0, true), None);
}

#[test]
fn credit_adds_up() {
    let mut it = Pair::new("GET");
    it.take(FrameKind::Credit, u32::MAX);
    it.take(FrameKind::Body, 5);
    assert_eq!(it.client.credit(), u64::from(INITIAL_CREDIT) + u64::from(u32::MAX));
}

#[test]
fn a_window_is_told_when_that_is_worth_a_frame() {
    let mut window = BodyWindow::new(false);
    assert_eq!(window.untold(1), None);
    window.widen(9);
    assert_eq!((window.untold(1), window.untold(10)), (Some(9), None));
    window.widen(1);
    assert_eq!(window.untold(10), Some(10));
    window.told();
    assert_eq!(window.untold(1), None);
    assert_eq!(BodyWindow::new(true).untold(10), Some(corral_channel::BODY_WINDOW));
}
