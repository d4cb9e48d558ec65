import { describe, expect, it } from "vitest";
import { serve } from "../../../src/http/server/serve.ts";
import { StartRefusal } from "../../../src/lib/folders/start-refusal.ts";
import { openRawClient, rawRequest } from "../../support/clients/raw-client.ts";

describe("a server whose port is taken", () => {
  it("does not start, and says what to set", async () => {
    const options = { host: "127.0.0.1", quietSeconds: 30, fetch: () => new Response("ok") };
    const first = await serve({ ...options, port: 0 });
    const refusal = await serve({ ...options, port: first.port }).catch(
      (thrown: unknown) => thrown,
    );
    first.close();
    expect(refusal).toBeInstanceOf(StartRefusal);
    expect(String(refusal)).toMatch(/port \d+ of 127\.0\.0\.1 \(EADDRINUSE\).*PORT/);
  });
});

describe("a server that is taken for a proxy", () => {
  it.each([
    ["http://gw.example.com/v1/models?limit=1", "/v1/models", "?limit=1"],
    ["HTTP://gw.example.com", "/", ""],
    ["/v1/models?of=http://gw.example.com/", "/v1/models", "?of=http://gw.example.com/"],
  ])("answers %s as what it names here", async (target, path, search) => {
    const server = await serve({
      ...{ host: "127.0.0.1", port: 0, quietSeconds: 30 },
      fetch: (request, connection) => {
        const url = new URL(request.url);
        return Response.json([connection.path, url.pathname, url.search]);
      },
    });
    const client = await openRawClient(server.port);
    client.send(rawRequest("GET", target, {}));
    expect(JSON.parse((await client.readResponse()).text)).toEqual([path, path, search]);
    client.close();
    await server.stop();
  });
});

describe("a server that is told to stop", () => {
  it("does not wait for connections without a request under way", async () => {
    const server = await serve({
      host: "127.0.0.1",
      port: 0,
      quietSeconds: 30,
      fetch: () => new Response("ok"),
    });
    const unused = await openRawClient(server.port);
    const idle = await openRawClient(server.port);
    idle.send(rawRequest("GET", "/", {}));
    expect((await idle.readResponse()).text).toBe("ok");
    const late = new Promise((resolve) => setTimeout(() => resolve("late"), 15_000));
    expect(await Promise.race([server.stop(), late])).toBeUndefined();
    unused.close();
    idle.close();
  });

  it("waits for an answer under way", async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const server = await serve({
      host: "127.0.0.1",
      port: 0,
      quietSeconds: 30,
      fetch: async () => {
        await answered;
        return new Response("in the end");
      },
    });
    const client = await openRawClient(server.port);
    client.send(rawRequest("GET", "/", {}));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const stopped = server.stop();
    answer();
    expect((await client.readResponse()).text).toBe("in the end");
    client.close();
    await stopped;
    server.close();
  });

  it("does not wait for another request once the answer under way is out", async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const server = await serve({
      host: "127.0.0.1",
      port: 0,
      quietSeconds: 30,
      fetch: async () => {
        await answered;
        return new Response("the last one");
      },
    });
    const client = await openRawClient(server.port);
    client.send(rawRequest("GET", "/", {}));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const stopped = server.stop();
    answer();
    expect((await client.readResponse()).text).toBe("the last one");
    const late = new Promise((resolve) => setTimeout(() => resolve("late"), 15_000));
    expect(await Promise.race([stopped, late])).toBeUndefined();
    client.close();
    server.close();
  });
});

describe("a server that turns new connections away", () => {
  it("goes on with the answers under way, and takes connections again when it may", async () => {
    const answering: ReadableStreamDefaultController<Uint8Array>[] = [];
    const server = await serve({
      host: "127.0.0.1",
      port: 0,
      quietSeconds: 30,
      fetch: (request) =>
        new URL(request.url).pathname === "/stream"
          ? new Response(new ReadableStream({ start: (stream) => void answering.push(stream) }))
          : new Response("ok"),
    });
    const say = (text: string) => answering[0]?.enqueue(new TextEncoder().encode(text));
    const reader = await openRawClient(server.port);
    reader.send(rawRequest("GET", "/stream", {}));
    await expect.poll(() => answering.length, { timeout: 10_000 }).toBe(1);
    say("one");
    await reader.readUntil((received) => received.includes("one"));

    server.admit(false);
    const turnedAway = async () => {
      const client = await openRawClient(server.port);
      const late = new Promise((resolve) => setTimeout(() => resolve("late"), 1_000));
      return (await Promise.race([client.closed, late])) !== "late";
    };
    await expect.poll(() => turnedAway().catch(() => true), { timeout: 20_000 }).toBe(true);
    say("two");
    await reader.readUntil((received) => received.includes("two"));

    server.admit(true);
    const answered = async () => {
      const client = await openRawClient(server.port);
      client.send(rawRequest("GET", "/", {}));
      return (await client.readResponse()).text;
    };
    await expect.poll(() => answered().catch(() => ""), { timeout: 10_000 }).toBe("ok");
    say("three");
    answering[0]?.close();
    await reader.readUntil((received) => received.includes("three"));
    await server.stop();
    server.close();
  });
});

describe("a quiet connection", () => {
  it("stays open while a call allows silence, and is closed some time after that call", async () => {
    const server = await serve({
      host: "127.0.0.1",
      port: 0,
      quietSeconds: 1,
      fetch: async (_, { allowSilence }) => {
        const endSilence = allowSilence();
        await new Promise((resolve) => setTimeout(resolve, 6_000));
        endSilence();
        return new Response("after a long thought");
      },
    });
    const client = await openRawClient(server.port);
    client.send(rawRequest("GET", "/", {}));
    expect((await client.readResponse()).text).toBe("after a long thought");
    const late = new Promise((resolve) => setTimeout(() => resolve("late"), 15_000));
    expect(await Promise.race([client.closed, late])).not.toBe("late");
    server.close();
  }, 30_000);
});
