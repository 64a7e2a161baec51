// SPDX-License-Identifier: Apache-2.0
//! One socket of zmq.rs that does what standard input says; ../README.md has the commands.

use bytes::Bytes;
use std::error::Error;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use zeromq::{Socket, SocketRecv, SocketSend, ZmqError, ZmqMessage};

type Outcome<T> = Result<T, Box<dyn Error>>;

const MARK: &[u8] = b"mark";

fn part(message: usize, part: usize, size: usize) -> Bytes {
    if size == 0 {
        return Bytes::new();
    }
    let mut whole = format!("{message}.{part}|").into_bytes();
    let size = size.max(whole.len());
    whole.resize(size, b'a' + (message % 26) as u8);
    whole.into()
}

fn message(number: usize, size: usize, parts: usize) -> ZmqMessage {
    let frames: Vec<Bytes> = (0..parts).map(|p| part(number, p, size)).collect();
    ZmqMessage::try_from(frames).expect("a message has a part")
}

fn is_mark(received: &ZmqMessage) -> bool {
    received.len() == 1 && received.get(0).is_some_and(|frame| frame[..] == *MARK)
}

fn compare(received: ZmqMessage, number: usize, size: usize, parts: usize) -> Outcome<()> {
    if received.len() != parts {
        return Err(format!("message {number} has {} parts, not {parts}", received.len()).into());
    }
    for (p, frame) in received.iter().enumerate() {
        if *frame != part(number, p, size) {
            return Err(format!("message {number} is not the one received").into());
        }
    }
    Ok(())
}

/// What a socket can do; those that can only send or only receive answer an error to the rest.
enum Role {
    Push(zeromq::PushSocket),
    Pull(zeromq::PullSocket),
    Req(zeromq::ReqSocket),
    Rep(zeromq::RepSocket),
    Pub(zeromq::PubSocket),
    Sub(zeromq::SubSocket),
    Dealer(zeromq::DealerSocket),
    Router(zeromq::RouterSocket),
}

impl Role {
    /// As long as there is no peer, this implementation gives messages back instead of waiting.
    async fn send(&mut self, mut message: ZmqMessage) -> Outcome<()> {
        loop {
            let sent = match self {
                Role::Push(s) => s.send(message).await,
                Role::Req(s) => s.send(message).await,
                Role::Rep(s) => s.send(message).await,
                Role::Pub(s) => s.send(message).await,
                Role::Dealer(s) => s.send(message).await,
                Role::Router(s) => s.send(message).await,
                Role::Pull(_) | Role::Sub(_) => return Err("cannot send".into()),
            };
            match sent {
                Err(ZmqError::ReturnToSender { message: back, .. }) => message = back,
                other => return Ok(other?),
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn recv(&mut self) -> Outcome<ZmqMessage> {
        Ok(match self {
            Role::Pull(s) => s.recv().await?,
            Role::Req(s) => s.recv().await?,
            Role::Rep(s) => s.recv().await?,
            Role::Sub(s) => s.recv().await?,
            Role::Dealer(s) => s.recv().await?,
            Role::Router(s) => s.recv().await?,
            Role::Push(_) | Role::Pub(_) => return Err("cannot receive".into()),
        })
    }

    async fn expect(&mut self, number: usize, size: usize, parts: usize) -> Outcome<()> {
        loop {
            let received = self.recv().await?;
            if !is_mark(&received) {
                return compare(received, number, size, parts);
            }
        }
    }

    async fn run(&mut self, words: &[&str]) -> Outcome<usize> {
        let number: Vec<usize> = words[1..]
            .iter()
            .map(|w| w.parse())
            .collect::<Result<_, _>>()?;
        match (words[0], number.as_slice()) {
            ("send", &[first, count, size, parts]) => {
                for i in first..first + count {
                    self.send(message(i, size, parts)).await?;
                }
                Ok(count)
            }
            ("recv", &[first, count, size, parts]) => {
                for i in first..first + count {
                    self.expect(i, size, parts).await?;
                }
                Ok(count)
            }
            ("request", &[first, count, size, parts]) => {
                for i in first..first + count {
                    self.send(message(i, size, parts)).await?;
                    self.expect(i, size, parts).await?;
                }
                Ok(count)
            }
            ("echo", &[count]) => {
                for _ in 0..count {
                    let received = self.recv().await?;
                    self.send(received).await?;
                }
                Ok(count)
            }
            ("mark", []) => self.send(ZmqMessage::from(MARK.to_vec())).await.map(|()| 1),
            ("await", []) => {
                while !is_mark(&self.recv().await?) {}
                Ok(1)
            }
            _ => Err(format!("unknown command {words:?}").into()),
        }
    }
}

async fn attach(socket: &mut impl Socket, how: &str, endpoint: &str) -> Outcome<()> {
    if how == "bind" {
        socket.bind(endpoint).await?;
    } else {
        socket.connect(endpoint).await?;
    }
    Ok(())
}

async fn open(kind: &str, how: &str, endpoint: &str) -> Outcome<Role> {
    macro_rules! opened {
        ($role:ident, $socket:ty) => {{
            let mut socket = <$socket>::new();
            attach(&mut socket, how, endpoint).await?;
            Role::$role(socket)
        }};
    }
    Ok(match kind {
        "push" => opened!(Push, zeromq::PushSocket),
        "pull" => opened!(Pull, zeromq::PullSocket),
        "req" => opened!(Req, zeromq::ReqSocket),
        "rep" => opened!(Rep, zeromq::RepSocket),
        "pub" => opened!(Pub, zeromq::PubSocket),
        "dealer" => opened!(Dealer, zeromq::DealerSocket),
        "router" => opened!(Router, zeromq::RouterSocket),
        "sub" => {
            let mut socket = zeromq::SubSocket::new();
            attach(&mut socket, how, endpoint).await?;
            socket.subscribe("").await?;
            Role::Sub(socket)
        }
        _ => return Err(format!("no socket type {kind}").into()),
    })
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut role = match open(&arguments[1], &arguments[2], &arguments[3]).await {
        Ok(role) => role,
        Err(problem) => {
            println!("error {problem}");
            return Ok(());
        }
    };
    println!("ready");
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = input.next_line().await? {
        if line == "quit" {
            break;
        }
        match role.run(&line.split(' ').collect::<Vec<_>>()).await {
            Ok(count) => println!("done {count}"),
            Err(problem) => println!("error {problem}"),
        }
    }
    Ok(())
}
