//! What happens on one connection: requests one after the other, each with its reply.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use crate::http::{self, Request};
use crate::{Reply, Shared, received};

pub(crate) fn connection(shared: &Shared, stream: TcpStream) {
    let mut socket = &stream;
    match &shared.tls {
        None => converse(shared, &mut socket),
        Some(tls) => {
            if let Ok(mut session) = rustls::ServerConnection::new(Arc::clone(tls)) {
                converse(shared, &mut rustls::Stream::new(&mut session, &mut socket));
            }
        }
    }
    drop(stream.shutdown(Shutdown::Both));
}

/// Ends when the connection does, by the client or by what a reply says.
fn converse(shared: &Shared, stream: &mut (impl Read + Write)) {
    let mut buffer = Vec::new();
    while http::has_begun(stream, &mut buffer) {
        let reply = shared.change(|state| {
            state.now += 1;
            state.most_at_once = state.most_at_once.max(state.now);
            state.next.pop_front().unwrap_or_else(|| state.always.clone())
        });
        let goes_on = reply != Reply::Cut
            && match http::read(stream, &mut buffer) {
                Ok(request) => act(shared, stream, request, reply),
                Err(complaint) => {
                    // As servers do, also for what is no HTTP at all.
                    http::answer(stream, 400, &[], complaint.as_bytes());
                    shared.change(|state| state.complaints.push(complaint));
                    false
                }
            };
        shared.change(|state| state.now -= 1);
        if !goes_on {
            return;
        }
    }
}

/// False when the connection is to be cut.
fn act(shared: &Shared, stream: &mut (impl Read + Write), request: Request, reply: Reply) -> bool {
    let spans = match received::decoded(&request) {
        Ok(spans) => spans,
        Err(complaint) => {
            shared.change(|state| {
                state.complaints.push(complaint.clone());
                state.requests.push(request);
            });
            return http::answer(stream, 400, &[], complaint.as_bytes());
        }
    };
    let all = spans.len();
    let keep = |n: usize| {
        shared.change(|state| {
            state.kept.extend(spans.into_iter().take(n));
            state.requests.push(request);
        });
    };
    let protobuf = [("content-type".to_owned(), "application/x-protobuf".to_owned())];
    match reply {
        Reply::Take => {
            keep(usize::MAX);
            http::answer(stream, 200, &protobuf, &received::all_taken())
        }
        Reply::TakePartly { rejected, message } => {
            keep(all.saturating_sub(usize::try_from(rejected).unwrap_or(usize::MAX)));
            http::answer(stream, 200, &protobuf, &received::partly_taken(rejected, &message))
        }
        Reply::TakeAndCut => {
            keep(usize::MAX);
            false
        }
        Reply::Answer { status, headers, body } => {
            keep(0);
            http::answer(stream, status, &headers, &body)
        }
        Reply::Hang => {
            keep(0);
            // Until the client has had enough.
            let mut byte = [0];
            while matches!(stream.read(&mut byte), Ok(1..)) {}
            false
        }
        Reply::Cut => false,
    }
}
