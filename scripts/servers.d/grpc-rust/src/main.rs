//! The server of internal/driver/grpc/testdata/echo.proto with tonic: grpc-server SET PORT AGE. SET is a file with a descriptor
//! set. PORT may be 0. At a second port each connection may live for AGE ms. It prints both ports. Then it answers each line
//! of standard input with what it has counted, and ends with it.

use prost::Message;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::codegen::*;
use tonic::server::{ClientStreamingService, Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, Message)]
struct Ask {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    count: i32,
    #[prost(uint32, tag = "3")]
    code: u32,
    #[prost(int32, tag = "4")]
    wait_ms: i32,
    #[prost(int32, tag = "5")]
    size: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    number: i32,
}

static CALLS: AtomicU64 = AtomicU64::new(0);
static MESSAGES: AtomicU64 = AtomicU64::new(0);
static ANSWERS: AtomicU64 = AtomicU64::new(0);
static DEADLINES: AtomicU64 = AtomicU64::new(0);
static TENANTS: AtomicU64 = AtomicU64::new(0);

async fn answer(ask: &Ask, number: i32) -> Result<Answer, Status> {
    tokio::time::sleep(Duration::from_millis(ask.wait_ms as u64)).await;
    if ask.code > 0 {
        return Err(Status::new((ask.code as i32).into(), "höher: 100 %\nnext"));
    }
    ANSWERS.fetch_add(1, Relaxed);
    let name = if ask.size > 0 { "a".repeat(ask.size as usize) } else { ask.name.clone() };
    Ok(Answer { name, number })
}

#[derive(Clone)]
struct Echo;

type Answers = ReceiverStream<Result<Answer, Status>>;

/// One answer to each message.
fn answers(mut asks: Streaming<Ask>) -> Response<Answers> {
    let (send, receive) = mpsc::channel(4);
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok(Some(ask)) = asks.message().await {
            MESSAGES.fetch_add(1, Relaxed);
            number += 1;
            let made = tokio::select! { made = answer(&ask, number) => made, _ = send.closed() => return };
            if send.send(made).await.is_err() {
                return;
            }
        }
    });
    Response::new(ReceiverStream::new(receive))
}

impl UnaryService<Ask> for Echo {
    type Response = Answer;
    type Future = BoxFuture<Response<Answer>, Status>;
    fn call(&mut self, q: Request<Ask>) -> Self::Future {
        MESSAGES.fetch_add(1, Relaxed);
        Box::pin(async move { answer(q.get_ref(), 1).await.map(Response::new) })
    }
}

impl ServerStreamingService<Ask> for Echo {
    type Response = Answer;
    type ResponseStream = Answers;
    type Future = BoxFuture<Response<Answers>, Status>;
    fn call(&mut self, q: Request<Ask>) -> Self::Future {
        MESSAGES.fetch_add(1, Relaxed);
        let (send, receive) = mpsc::channel(4);
        tokio::spawn(async move {
            for number in 1..=q.get_ref().count {
                let made = tokio::select! { made = answer(q.get_ref(), number) => made, _ = send.closed() => return };
                let over = made.is_err();
                if send.send(made).await.is_err() || over {
                    return;
                }
            }
        });
        Box::pin(async move { Ok(Response::new(ReceiverStream::new(receive))) })
    }
}

impl ClientStreamingService<Ask> for Echo {
    type Response = Answer;
    type Future = BoxFuture<Response<Answer>, Status>;
    fn call(&mut self, q: Request<Streaming<Ask>>) -> Self::Future {
        Box::pin(async move {
            let (mut asks, mut last, mut number) = (q.into_inner(), Ask::default(), 0);
            while let Some(ask) = asks.message().await? {
                MESSAGES.fetch_add(1, Relaxed);
                last = ask;
                number += 1;
            }
            answer(&last, number).await.map(Response::new)
        })
    }
}

impl StreamingService<Ask> for Echo {
    type Response = Answer;
    type ResponseStream = Answers;
    type Future = BoxFuture<Response<Answers>, Status>;
    fn call(&mut self, q: Request<Streaming<Ask>>) -> Self::Future {
        Box::pin(async move { Ok(answers(q.into_inner())) })
    }
}

impl tonic::server::NamedService for Echo {
    const NAME: &'static str = "test.v1.Echo";
}

impl<B> Service<http::Request<B>> for Echo
where
    B: Body + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }
    fn call(&mut self, q: http::Request<B>) -> Self::Future {
        CALLS.fetch_add(1, Relaxed);
        DEADLINES.fetch_add(q.headers().contains_key("grpc-timeout") as u64, Relaxed);
        TENANTS.fetch_add(q.headers().contains_key("x-tenant") as u64, Relaxed);
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::<Answer, Ask>::default())
                .accept_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Gzip);
            Ok(match q.uri().path() {
                "/test.v1.Echo/Unary" => grpc.unary(Echo, q).await,
                "/test.v1.Echo/Server" => grpc.server_streaming(Echo, q).await,
                "/test.v1.Echo/Client" => grpc.client_streaming(Echo, q).await,
                "/test.v1.Echo/Both" => grpc.streaming(Echo, q).await,
                _ => Status::unimplemented("").into_http(),
            })
        })
    }
}

async fn serve(set: &'static [u8], port: &str, age: Option<Duration>) -> Result<u16, StdError> {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    let bound = listener.local_addr()?.port();
    let (health, service) = tonic_health::server::health_reporter();
    health.set_serving::<Echo>().await;
    let reflection = tonic_reflection::server::Builder::configure().register_encoded_file_descriptor_set(set).build_v1()?;
    let mut server = tonic::transport::Server::builder();
    if let Some(age) = age {
        server = server.max_connection_age(age);
    }
    let server = server.add_service(Echo).add_service(service).add_service(reflection);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    Ok(bound)
}

#[tokio::main]
async fn main() -> Result<(), StdError> {
    let args: Vec<String> = std::env::args().collect();
    let set = Box::leak(std::fs::read(&args[1])?.into_boxed_slice());
    let first = serve(set, &args[2], None).await?;
    let second = serve(set, "0", Some(Duration::from_millis(args[3].parse()?))).await?;
    println!("{first} {second}");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while lines.next_line().await?.is_some() {
        let all: Vec<String> = [&CALLS, &MESSAGES, &ANSWERS, &DEADLINES, &TENANTS].iter().map(|n| n.load(Relaxed).to_string()).collect();
        println!("{}", all.join(" "));
    }
    Ok(())
}
