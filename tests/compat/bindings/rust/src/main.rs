// SPDX-License-Identifier: Apache-2.0
//! The `zmq` crate on the library: each named check is one run of this program.

use std::thread;
use zmq::{Context, Socket, SocketType};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn linked(
    context: &Context,
    bound: SocketType,
    connected: SocketType,
) -> zmq::Result<(Socket, Socket)> {
    let (server, client) = (context.socket(bound)?, context.socket(connected)?);
    for socket in [&server, &client] {
        socket.set_linger(0)?;
        socket.set_rcvtimeo(10_000)?;
    }
    server.bind("tcp://127.0.0.1:*")?;
    client.connect(&server.get_last_endpoint()?.unwrap())?;
    Ok((server, client))
}

fn library() -> Outcome {
    assert_eq!(zmq::version(), (4, 3, 5));
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let expected = std::fs::canonicalize(std::env::var("EXPECT_LIBRARY")?)?;
    assert!(
        maps.contains(expected.to_str().unwrap()),
        "{expected:?} is not used"
    );
    Ok(())
}

fn request_reply() -> Outcome {
    let context = Context::new();
    let (server, client) = linked(&context, zmq::REP, zmq::REQ)?;
    for i in 0..1000 {
        client.send(i.to_string().as_str(), 0)?;
        assert_eq!(server.recv_string(0)?.unwrap(), i.to_string());
        server.send("reply", 0)?;
        assert_eq!(client.recv_bytes(0)?, b"reply");
    }
    Ok(())
}

fn stream() -> Outcome {
    let context = Context::new();
    let (server, client) = linked(&context, zmq::PULL, zmq::PUSH)?;
    let sender = thread::spawn(move || -> zmq::Result<()> {
        (0..100_000u32).try_for_each(|i| client.send(i.to_be_bytes().to_vec(), 0))?;
        client.set_linger(10_000)
    });
    for i in 0..100_000u32 {
        assert_eq!(server.recv_bytes(0)?, i.to_be_bytes());
    }
    sender.join().unwrap()?;
    Ok(())
}

fn multipart() -> Outcome {
    let context = Context::new();
    let (server, client) = linked(&context, zmq::ROUTER, zmq::DEALER)?;
    client.set_identity(b"late")?;
    client.send_multipart([&b"a"[..], &[7; 100_000], b""], 0)?;
    let parts = server.recv_multipart(0)?;
    assert_eq!(parts.len(), 4);
    server.send_multipart(parts, 0)?;
    assert_eq!(client.recv_multipart(0)?[1], vec![7; 100_000]);
    Ok(())
}

fn polling() -> Outcome {
    let context = Context::new();
    let (server, client) = linked(&context, zmq::PAIR, zmq::PAIR)?;
    let mut items = [
        server.as_poll_item(zmq::POLLIN),
        client.as_poll_item(zmq::POLLIN),
    ];
    assert_eq!(zmq::poll(&mut items, 0)?, 0);
    client.send("x", 0)?;
    assert_eq!(zmq::poll(&mut items, 10_000)?, 1);
    assert!(items[0].is_readable() && !items[1].is_readable());
    Ok(())
}

fn publish() -> Outcome {
    let context = Context::new();
    let (server, client) = linked(&context, zmq::XPUB, zmq::SUB)?;
    client.set_subscribe(b"a")?;
    assert_eq!(server.recv_bytes(0)?, b"\x01a");
    server.send("b no", 0)?;
    server.send("a yes", 0)?;
    assert_eq!(client.recv_bytes(0)?, b"a yes");
    Ok(())
}

fn monitor() -> Outcome {
    let context = Context::new();
    let server = context.socket(zmq::REP)?;
    server.monitor("inproc://monitor", zmq::SocketEvent::ACCEPTED as i32)?;
    let events = context.socket(zmq::PAIR)?;
    events.connect("inproc://monitor")?;
    events.set_rcvtimeo(10_000)?;
    server.bind("tcp://127.0.0.1:*")?;
    let client = context.socket(zmq::REQ)?;
    client.connect(&server.get_last_endpoint()?.unwrap())?;
    let event = events.recv_multipart(0)?;
    assert_eq!(
        u16::from_ne_bytes([event[0][0], event[0][1]]),
        zmq::SocketEvent::ACCEPTED as u16
    );
    Ok(())
}

fn proxy() -> Outcome {
    let context = Context::new();
    let (front, back) = (context.socket(zmq::ROUTER)?, context.socket(zmq::DEALER)?);
    front.bind("inproc://front")?;
    back.bind("inproc://back")?;
    thread::spawn(move || zmq::proxy(&front, &back));
    let (worker, client) = (context.socket(zmq::REP)?, context.socket(zmq::REQ)?);
    worker.connect("inproc://back")?;
    client.connect("inproc://front")?;
    worker.set_rcvtimeo(10_000)?;
    client.send("through", 0)?;
    assert_eq!(worker.recv_bytes(0)?, b"through");
    drop((worker, client));
    std::process::exit(0) // the proxy runs as long as its context
}

fn curve_keys() -> Outcome {
    let pair = zmq::CurveKeyPair::new()?;
    assert_eq!(
        zmq::z85_decode(&zmq::z85_encode(&pair.public_key)?)?,
        pair.public_key
    );
    Ok(())
}

const CHECKS: &[(&str, fn() -> Outcome)] = &[
    ("library", library),
    ("request_reply", request_reply),
    ("stream", stream),
    ("multipart", multipart),
    ("polling", polling),
    ("publish", publish),
    ("monitor", monitor),
    ("proxy", proxy),
    ("curve_keys", curve_keys),
];

fn main() -> Outcome {
    match std::env::args().nth(1) {
        None => CHECKS.iter().for_each(|(name, _)| println!("{name}")),
        Some(wanted) => CHECKS
            .iter()
            .find(|(name, _)| *name == wanted)
            .ok_or("no such check")?
            .1()?,
    }
    Ok(())
}
