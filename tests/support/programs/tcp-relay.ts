// Passes connections on to a port, and can stop to accept any: `tcp-relay TARGET_PORT`. On SIGUSR2 it cuts what is
// open and stops itself, so that only a queue of one connection is left of it; SIGCONT lets it go on.
import { connect, createServer, type Socket } from "node:net";

const target = Number(process.argv[2]);
const sockets = new Set<Socket>();

const server = createServer((client) => {
  const upstream = connect({ port: target, host: "127.0.0.1" });
  for (const socket of [client, upstream]) {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {
      client.destroy();
      upstream.destroy();
    });
  }
  client.pipe(upstream).pipe(client);
});

process.on("SIGUSR2", () => {
  for (const socket of sockets) socket.destroy();
  setImmediate(() => process.kill(process.pid, "SIGSTOP"));
});

server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  const address = server.address();
  process.stdout.write(`port ${typeof address === "object" && address ? address.port : 0}\n`);
});
