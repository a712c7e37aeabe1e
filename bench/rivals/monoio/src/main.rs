//! monoio on io_uring: as it comes, and with a ring set up for one thread.

use monoio::{
    IoUringDriver, RuntimeBuilder,
    io::{AsyncReadRent, AsyncWriteRentExt},
    net::{TcpListener, TcpStream},
};
use rival_reply::{Args, REPLY, Requests};
use std::io;

async fn serve(mut stream: TcpStream) -> io::Result<()> {
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

fn main() -> io::Result<()> {
    let args = Args::of_process(&["plain", "tuned"]);
    let mut ring = io_uring_06::IoUring::builder();
    if args.mode == "tuned" {
        ring.setup_single_issuer().setup_coop_taskrun().setup_defer_taskrun();
    }
    let builder = RuntimeBuilder::<IoUringDriver>::new().with_entries(1024).uring_builder(ring);
    builder.build()?.block_on(async {
        let listener = TcpListener::bind(args.address)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // How a connection ends is the client's affair.
            monoio::spawn(async { drop(serve(stream).await) });
        }
    })
}
