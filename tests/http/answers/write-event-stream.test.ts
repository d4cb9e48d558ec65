import { describe, expect, it } from "vitest";
import type { StreamEncoder } from "../../../src/codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../../../src/core/chat/chat-event.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import {
  type EventStream,
  writeEventStream,
} from "../../../src/http/answers/write-event-stream.ts";

const delta = (text: string): ChatEvent => ({ type: "text-delta", block: 0, text });
const finish: ChatEvent = { type: "finish", reason: "stop" };

/** Writes texts as they are, `!code` for an error and `.` for the end; nothing after either. */
function plainEncoder(): StreamEncoder {
  let ended = false;
  const word = (event: ChatEvent): string => {
    if (ended) return "";
    ended = event.type === "finish" || event.type === "error";
    if (event.type === "text-delta") return event.text;
    if (event.type === "error") return `!${event.error.code}`;
    return event.type === "finish" ? "." : "";
  };
  return { encode: (events) => events.map(word).join("") };
}

async function open(events: Promise<ChatEvents>, changes: Partial<EventStream> = {}) {
  const log: string[] = [];
  const stream = await writeEventStream({
    events,
    createEncoder: plainEncoder,
    keepalive: "~",
    keepaliveMs: 10_000,
    slowClientMs: 10_000,
    abort: (reason) => log.push(`abort ${reason?.code ?? "client"}`),
    report: (error) => log.push(`report ${error.code}`),
    onEnd: () => log.push("end"),
    ...changes,
  });
  return { stream, log };
}

async function* batches(...list: ChatEvent[][]): AsyncGenerator<ChatEvent[]> {
  for (const batch of list) yield batch;
}

const read = (stream: ReadableStream<Uint8Array>) => new Response(stream).text();

describe("an event stream", () => {
  it("writes every batch and ends once", async () => {
    const { stream, log } = await open(
      Promise.resolve(batches([delta("a"), delta("b")], [delta("c")], [finish])),
    );
    expect(await read(stream)).toBe("abc.");
    expect(log).toEqual(["end"]);
  });

  it("says a failure of the source in the family's own form", async () => {
    async function* failing() {
      yield [delta("a")];
      throw new ServiceError("upstream_error", "gone");
    }
    expect(await read((await open(Promise.resolve(failing()))).stream)).toBe("a!upstream_error");
  });

  it("says a failure that comes before the first event when the stream has begun", async () => {
    const late = new Promise<ChatEvents>((_, reject) =>
      setTimeout(() => reject(new ServiceError("upstream_timeout", "late")), 200),
    );
    const { stream, log } = await open(late, { keepaliveMs: 150 });
    expect(await read(stream)).toBe("~!upstream_timeout");
    expect(log).toEqual(["report upstream_timeout", "end"]);
  });

  it("is there once its first frames are, which leave with the head of the answer", async () => {
    async function* late() {
      yield [{ type: "start" } as ChatEvent];
      await new Promise((resolve) => setTimeout(resolve, 50));
      yield [delta("a")];
      await new Promise((resolve) => setTimeout(resolve, 50));
      yield [finish];
    }
    const openedAt = performance.now();
    const { stream } = await open(Promise.resolve(late()));
    expect(performance.now() - openedAt).toBeGreaterThan(45);
    const reader = stream.getReader();
    let isThere = false;
    const first = reader.read().then(({ value }) => {
      isThere = true;
      return new TextDecoder().decode(value);
    });
    // No time has to pass, only what is ready has to be taken.
    await new Promise((resolve) => setImmediate(resolve));
    expect(isThere).toBe(true);
    expect(await first).toBe("a");
    const { value: second } = await reader.read();
    expect(new TextDecoder().decode(second)).toBe(".");
    expect((await reader.read()).done).toBe(true);
  });

  it("loses nothing for a reader that asks again before it has what it asked for", async () => {
    const list = ["a", "b", "c", "d"].map((text) => [delta(text)]);
    const { stream } = await open(Promise.resolve(batches(...list, [finish])));
    const reader = stream.getReader();
    const reads = await Promise.all(Array.from({ length: 6 }, () => reader.read()));
    const texts = reads.map(({ value }) => new TextDecoder().decode(value));
    expect(texts).toEqual(["a", "b", "c", "d", ".", ""]);
  });

  it("writes nothing more for a client that left while frames waited for the end of the turn", async () => {
    const { stream, log } = await open(Promise.resolve(batches([delta("a")], [delta("b")])));
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual(["end", "abort client"]);
  });

  it("leaves the status free for a failure before the first event", async () => {
    const failure = new ServiceError("upstream_error", "away");
    const failed = open(Promise.reject(failure));
    await expect(failed).rejects.toBe(failure);
  });

  it("is empty when its source has nothing to say", async () => {
    const { stream, log } = await open(Promise.resolve(batches()));
    expect(await read(stream)).toBe("");
    expect(log).toEqual(["end"]);
  });

  it("begins with a keepalive when the first frames are late, and loses none of them", async () => {
    async function* late() {
      await new Promise((resolve) => setTimeout(resolve, 120));
      yield [delta("a")];
      yield [finish];
    }
    const { stream } = await open(Promise.resolve(late()), { keepaliveMs: 50 });
    expect(await read(stream)).toMatch(/^~{1,3}a\.$/);
  });

  it.each([
    ["at once", 0, 1],
    ["after the first frames", 0, 2],
    ["after a keepalive", 60, 1],
  ])(
    "breaks off, and ends its call, when nothing can be encoded %s",
    async (_, lateMs, failsAt) => {
      let isClosed = false;
      async function* endless() {
        try {
          await new Promise((resolve) => setTimeout(resolve, lateMs));
          for (;;) yield [delta("a")];
        } finally {
          isClosed = true;
        }
      }
      let encoded = 0;
      const createEncoder = () => ({
        encode() {
          encoded += 1;
          if (encoded >= failsAt) throw new TypeError("a fault of ours");
          return "a";
        },
      });
      const opened = open(Promise.resolve(endless()), { createEncoder, keepaliveMs: 30 });
      if (lateMs === 0 && failsAt === 1) await expect(opened).rejects.toThrow("a fault of ours");
      else {
        const { stream, log } = await opened;
        await expect(read(stream)).rejects.toThrow();
        expect(log).toEqual(["report internal_error", "end", "abort internal_error"]);
      }
      await expect.poll(() => isClosed).toBe(true);
      // A keepalive into a stream that is over would end the process.
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
  );

  it("reports the error that a source ends with", async () => {
    const error = new ServiceError("internal_error", "a fault of ours");
    const { stream, log } = await open(
      Promise.resolve(batches([delta("a"), { type: "error", error }])),
    );
    expect(await read(stream)).toBe("a!internal_error");
    expect(log).toEqual(["report internal_error", "end"]);
  });

  it("fills the engine's silence with keepalives", async () => {
    async function* slow() {
      yield [delta("a")];
      await new Promise((resolve) => setTimeout(resolve, 350));
      yield [finish];
    }
    const { stream } = await open(Promise.resolve(slow()), { keepaliveMs: 100 });
    expect(await read(stream)).toMatch(/^a~{1,4}\.$/);
  });

  it("ends the call and closes the source when the client leaves, also between two reads", async () => {
    let closed = false;
    async function* endless() {
      try {
        for (;;) yield [delta("a")];
      } finally {
        closed = true;
      }
    }
    const { stream, log } = await open(Promise.resolve(endless()));
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(log).toEqual(["end", "abort client"]);
    expect(closed).toBe(true);
  });

  it("closes a source that was never read when the client leaves before the first event", async () => {
    let returned = 0;
    const events = {
      [Symbol.asyncIterator]: () => events,
      next: () => new Promise<never>(() => {}),
      return: async () => {
        returned++;
        return { done: true as const, value: undefined };
      },
    };
    let begin: (events: ChatEvents) => void = () => {};
    const { stream } = await open(
      new Promise<ChatEvents>((resolve) => {
        begin = resolve;
      }),
      { keepaliveMs: 20 },
    );
    await stream.cancel();
    begin(events);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(returned).toBe(1);
  });

  it("gives up on a client that stops reading, and takes no more from the engine meanwhile", async () => {
    let taken = 0;
    async function* plenty() {
      for (;;) {
        taken++;
        yield [delta("x".repeat(1000))];
      }
    }
    const { stream, log } = await open(Promise.resolve(plenty()), { slowClientMs: 100 });
    const reader = stream.getReader();
    await reader.read();
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(taken).toBeLessThan(5);
    expect(log).toEqual(["end", "abort request_timeout"]);
    await expect(
      (async () => {
        for (;;) if ((await reader.read()).done) return;
      })(),
    ).rejects.toThrow("stopped reading");
  });
});
