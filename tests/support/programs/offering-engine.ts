// A model server that offers every stream MEGABYTES of text as fast as it is taken: `offering-engine MEGABYTES`. A
// request for seven tokens gets a stream of three words. Says `port N`. GET /stats tells of the long streams: how many
// are open and ended, and how many bytes of each open one are out of this process.
import { createServer, type Socket } from "node:net";
import { type HttpRequest, RequestReader } from "../../../simulator/http/request-reader.ts";

const offeredBytes = Number(process.argv[2]) * 1_048_576;
const EVENT_BYTES = 16_384;
const HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const MODELS = JSON.stringify({
  object: "list",
  data: [{ id: "offering", object: "model", created: 1, owned_by: "x", max_model_len: 32_768 }],
});

const streams = new Set<Socket>();
let ended = 0;

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new RequestReader();
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => {
    reader.push(bytes);
    const request = reader.next(() => undefined);
    if (request !== undefined) answer(socket, request);
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address();
  process.stdout.write(`port ${typeof address === "object" && address ? address.port : 0}\n`);
});

function answer(socket: Socket, { method, path, body }: HttpRequest): void {
  if (path === "/stats") sendJson(socket, JSON.stringify(stats()));
  else if (method === "GET") sendJson(socket, MODELS);
  else if (body.includes('"max_tokens":7')) {
    socket.write(HEAD + [" one", " two", " three"].map(textEvent).join("") + lastWords());
  } else {
    streams.add(socket);
    socket.once("close", () => {
      streams.delete(socket);
      ended += 1;
    });
    void offer(socket);
  }
}

async function offer(socket: Socket): Promise<void> {
  socket.write(HEAD);
  const event = textEvent("word ".repeat(EVENT_BYTES / 5));
  for (let bytes = 0; bytes < offeredBytes && !socket.destroyed; bytes += event.length) {
    if (!socket.write(event)) await drained(socket);
  }
  socket.write(lastWords());
}

function stats(): object {
  const out = [...streams].map((socket) => socket.bytesWritten - socket.writableLength);
  return { open: streams.size, ended, out };
}

function sendJson(socket: Socket, json: string): void {
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}`;
  socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${json}`);
}

function textEvent(content: string): string {
  return chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
}

function lastWords(): string {
  const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 };
  const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  return `${chunk(stop)}${chunk({ choices: [], usage })}e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n`;
}

function chunk(fields: object): string {
  const known = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "offering",
  };
  const text = `data: ${JSON.stringify({ ...known, ...fields })}\n\n`;
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("drain", resolve);
    socket.once("close", () => resolve());
  });
}
