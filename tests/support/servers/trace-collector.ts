import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readProtobuf } from "../clients/read-protobuf.ts";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 2 of a server, 3 of a client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2 is an error. */
  readonly statusCode: number;
}

export interface TraceCollector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Of the last request. */
  readonly headers: () => Readonly<Record<string, string | string[] | undefined>>;
  /** What it answers from now on. */
  readonly answer: (status: number) => void;
  readonly requests: () => number;
  readonly close: () => Promise<void>;
}

/** An OpenTelemetry collector that keeps what it is sent. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  let status = 200;
  let requests = 0;
  let headers = {};
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      requests += 1;
      headers = request.headers;
      if (request.url !== "/v1/traces") response.writeHead(404).end();
      else {
        if (status === 200) spans.push(...readSpans(Buffer.concat(pieces)));
        response.writeHead(status).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers: () => headers,
    answer(next) {
      status = next;
    },
    requests: () => requests,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** By the field numbers of OpenTelemetry's trace.proto. */
function readSpans(body: Buffer): CollectedSpan[] {
  const resourceSpans = readProtobuf(body).messages(1);
  return resourceSpans.flatMap((resource) => {
    const ofResource = readAttributes(resource.messages(1)[0]?.messages(1) ?? []);
    const spans = resource.messages(2).flatMap((scope) => scope.messages(2));
    return spans.map((span) => ({
      traceId: span.bytes(1).toString("hex"),
      spanId: span.bytes(2).toString("hex"),
      parentSpanId: span.bytes(4).toString("hex"),
      name: span.text(5),
      kind: Number(span.number(6)),
      startMs: Number(span.number(7)) / 1e6,
      endMs: Number(span.number(8)) / 1e6,
      attributes: { ...ofResource, ...readAttributes(span.messages(9)) },
      statusCode: Number(span.messages(15)[0]?.number(3) ?? 0n),
    }));
  });
}

function readAttributes(
  pairs: readonly ReturnType<typeof readProtobuf>[],
): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const value = pair.messages(2)[0];
      if (value === undefined) return [pair.text(1), undefined];
      if (value.has(1)) return [pair.text(1), value.text(1)];
      return [pair.text(1), value.has(4) ? value.double(4) : Number(value.number(3))];
    }),
  );
}
