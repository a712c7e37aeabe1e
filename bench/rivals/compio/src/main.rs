//! compio: as it comes, and tuned to what the kernel offers.

use compio::{
    driver::ProactorBuilder,
    io::{AsyncRead, AsyncReadManaged, AsyncReadMulti, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::RuntimeBuilder,
};
use futures_util::StreamExt;
use rival_reply::{Args, REPLY, Requests};
use std::{io, num::NonZero, pin::pin};

/// What a receive ends with where its pool has no buffer left (errno(3)).
const ENOBUFS: i32 = 105;
/// Buffers of the pool: several times the connections of the load. As they come there are 8.
const BUFFERS: NonZero<u16> = NonZero::new(512).expect("not zero");
/// Bytes of each, as the other rivals read at once.
const BUFFER_BYTES: usize = 4096;

/// One read an answer, into a buffer of the connection.
async fn plain(mut stream: TcpStream) -> io::Result<()> {
    let mut requests = Requests::default();
    let mut buffer = Vec::with_capacity(4096);
    loop {
        let result = stream.read(buffer).await;
        buffer = result.1;
        if result.0? == 0 {
            return Ok(());
        }
        let complete = requests.take(&buffer).map_err(|_| io::ErrorKind::InvalidData)?;
        buffer.clear();
        for _ in 0..complete {
            stream.write_all(REPLY.as_slice()).await.0?;
        }
    }
}

/// One multishot receive a connection, into buffers that the kernel picks.
async fn tuned(stream: TcpStream) -> io::Result<()> {
    let mut requests = Requests::default();
    loop {
        {
            let mut reader = &stream;
            let mut received = pin!(reader.read_multi(0));
            while let Some(bytes) = received.next().await {
                match bytes {
                    Ok(bytes) => answer(&stream, &mut requests, &bytes).await?,
                    // The kernel found no buffer free and gave the receive up.
                    Err(error) if error.raw_os_error() == Some(ENOBUFS) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        // It ended: for want of buffers, or with the connection. One plain receive tells which.
        match (&stream).read_managed(0).await? {
            Some(bytes) => answer(&stream, &mut requests, &bytes).await?,
            None => return Ok(()),
        }
    }
}

async fn answer(mut stream: &TcpStream, requests: &mut Requests, bytes: &[u8]) -> io::Result<()> {
    let complete = requests.take(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
    for _ in 0..complete {
        stream.write_all(REPLY.as_slice()).await.0?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let args = Args::of_process(&["plain", "tuned"]);
    let tune = args.mode == "tuned";
    let mut driver = ProactorBuilder::new();
    driver.capacity(1024);
    if tune {
        driver.single_issuer(true).coop_taskrun(true).defer_taskrun(true);
        driver.buffer_pool_size(BUFFERS).buffer_pool_buffer_len(BUFFER_BYTES);
    }
    RuntimeBuilder::new().with_proactor(driver).build()?.block_on(async {
        let listener = TcpListener::bind(args.address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // How a connection ends is the client's affair.
            if tune {
                compio::runtime::spawn(async { drop(tuned(stream).await) }).detach();
            } else {
                compio::runtime::spawn(async { drop(plain(stream).await) }).detach();
            }
        }
    })
}
