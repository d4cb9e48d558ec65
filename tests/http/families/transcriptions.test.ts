import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readMultipart } from "../../../simulator/http/read-multipart.ts";
import { headerOf } from "../../../simulator/http/request-reader.ts";
import {
  audioForm,
  BOUNDARY,
  FORM_TYPE,
  type FormPiece,
  formBytes,
} from "../../support/clients/audio-form.ts";
import { callGateway, openCall } from "../../support/clients/call-gateway.ts";
import { expectChatError, expectChatForm } from "../../support/clients/expect-chat-error.ts";
import { chunk, responseHead, wholeResponse } from "../../support/servers/scripted-upstream.ts";
import {
  type SpeechExchange,
  type SpeechServer,
  startSpeechServer,
} from "../../support/servers/speech-server.ts";
import { errorLines, type Stage, startStage } from "../../support/stages/engine-stage.ts";
import type { StoredUsage } from "../../support/stages/usage/stored-usage.ts";

const PATH = "/v1/audio/transcriptions";
const SPEECH_KEY = "canary-of-the-speech-server-88aa";
const MAX_BYTES = 80 * 1024 * 1024;
const KEEPALIVE_MS = 300;
const IDLE_MS = 1_500;
const JSON_TYPE = { "content-type": "application/json" };
const SSE = responseHead(200, {
  "content-type": "text/event-stream",
  "transfer-encoding": "chunked",
});
/** Their calls are not answered, and are known by the model all the same: the server lists it. */
const LISTED = [
  "first-error",
  "passed-over",
  "refused-401",
  "refused-429",
  "left-midway-the-form",
  "left-before-the-answer",
  "left-midway-a-whole-answer",
];
const TOKENS = { type: "tokens", input_tokens: 31, output_tokens: 7, total_tokens: 38 };

describe("4.1 POST /v1/audio/transcriptions", () => {
  let speech: SpeechServer;
  let stage: Stage;
  let rows: Promise<readonly StoredUsage[]> | undefined;

  beforeAll(async () => {
    speech = await startSpeechServer(...LISTED);
    stage = await startStage({
      engine: "vllm",
      models: [],
      environment: {
        SPEECH_BASE_URL: `${speech.url}/v1/`,
        SPEECH_API_KEY: SPEECH_KEY,
        GATEWAY_MAX_AUDIO_BYTES: String(MAX_BYTES),
        STREAM_KEEPALIVE_MS: String(KEEPALIVE_MS),
        STREAM_IDLE_TIMEOUT_MS: String(IDLE_MS),
      },
    });
  });
  beforeEach(() => speech.use(() => undefined));
  afterAll(async () => {
    await stage?.finish();
    await speech?.stop();
  });

  const post = (body: unknown, headers: Record<string, string | undefined> = FORM_TYPE) =>
    callGateway(stage.gateway.port, { path: PATH, headers, body });
  const open = (body: unknown, headers: Record<string, string | undefined> = FORM_TYPE) =>
    openCall(stage.gateway.port, { path: PATH, headers, body });

  /** Answers every transcription so. */
  const answer = (...pieces: readonly (string | Uint8Array)[]) =>
    speech.use(async ({ request, socket }) => {
      await request;
      for (const piece of pieces) socket.write(piece);
      socket.end();
    });
  /** Does so with the transcription once its form is there. */
  const serve = (act: (exchange: SpeechExchange) => void | Promise<void>) =>
    speech.use(async (exchange) => {
      await exchange.request;
      await act(exchange);
    });
  const lastForm = async () => {
    const request = await speech.exchanges().at(-1)?.request;
    if (request === undefined) throw new Error("nothing was asked");
    return { request, parts: readMultipart(headerOf(request, "content-type") ?? "", request.body) };
  };
  const rowOf = async (model: string) => {
    rows ??= stage.finish();
    const found = (await rows).filter((row) => row.model === model);
    expect(found).toHaveLength(1);
    return found[0];
  };

  describe("passes the form on", () => {
    it("with every part and byte as it came, under the key of that server alone", async () => {
      answer(wholeResponse(200, '{"text":"Hello."}'));
      const recording = Buffer.from(
        Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256),
      );
      const pieces: FormPiece[] = [
        { name: "timestamp_granularities[]", value: "word" },
        { name: "file", value: recording, filename: 'a "quoted" näme.wav' },
        { name: "timestamp_granularities[]", value: "segment" },
        { name: "prompt", value: "x".repeat(50_000) },
        { name: "model", value: "as-it-came" },
        { name: "response_format", value: "json" },
      ];
      const response = await post(formBytes(pieces));
      expect({ status: response.status, body: response.json() }).toEqual({
        status: 200,
        body: { text: "Hello." },
      });
      const { request, parts } = await lastForm();
      expect(parts?.map(({ name }) => name)).toEqual(pieces.map(({ name }) => name));
      for (const [index, piece] of pieces.entries()) {
        expect(parts?.[index]?.body.equals(Buffer.from(piece.value as string))).toBe(true);
      }
      expect(request.body.includes('filename="a "quoted" näme.wav"')).toBe(true);
      expect(headerOf(request, "authorization")).toBe(`Bearer ${SPEECH_KEY}`);
    });

    it("once it is complete, with its length, however its fields are ordered", async () => {
      const recording = Buffer.alloc(24 * 1024 * 1024);
      for (let at = 0; at < recording.length; at += 4_096) recording.writeUInt32LE(at, at);
      const body = formBytes([
        { name: "file", value: recording, filename: "long.wav" },
        { name: "model", value: "long" },
      ]);
      answer(wholeResponse(200, '{"text":"Long."}'));
      const before = speech.exchanges().length;
      const client = await open(undefined, { ...FORM_TYPE, "content-length": `${body.length}` });
      client.send(body.subarray(0, -1_000));
      await sleep(500);
      expect(speech.exchanges()).toHaveLength(before);
      client.send(body.subarray(-1_000));
      expect((await client.readResponse({ method: "POST" })).json()).toEqual({ text: "Long." });
      client.close();
      const { request, parts } = await lastForm();
      expect(headerOf(request, "content-length")).toBe(String(request.body.length));
      expect(hashOf(parts?.[0]?.body)).toBe(hashOf(recording));
    });
  });

  describe("answers", () => {
    it.each([
      ["json", "application/json", '{"text":"Hi","usage":{"type":"duration","seconds":9}}'],
      ["diarized_json", "application/json", '{"text":"Hi","segments":[{"speaker":"A"}]}'],
      ["text", "text/plain; charset=utf-8", '"Hi," they said.\n'],
      ["srt", "text/plain; charset=utf-8", "1\n00:00:00,000 --> 00:00:01,000\nHi\n\n"],
      ["vtt", "text/plain; charset=utf-8", "WEBVTT\n\n00:00.000 --> 00:01.000\nHi\n"],
    ])("%s as the server gives it", async (format, type, body) => {
      const upstreamType = type.startsWith("text") ? "text/plain" : type;
      answer(wholeResponse(200, body, { "content-type": upstreamType }));
      const form = audioForm(`format-${format}`, [{ name: "response_format", value: format }]);
      const response = await post(form);
      expect(response.header("content-type")).toBe(type);
      expect(response.text).toBe(body);
    });

    it("verbose_json with its duration as a number, whatever the server makes of it", async () => {
      const verbose = {
        task: "transcribe",
        language: "de",
        text: "Hallo",
        segments: [],
        words: null,
      };
      for (const duration of ["36.7", 36.7]) {
        answer(wholeResponse(200, JSON.stringify({ ...verbose, duration })));
        const form = audioForm("verbose", [{ name: "response_format", value: "verbose_json" }]);
        expect((await post(form)).json()).toEqual({ ...verbose, duration: 36.7 });
      }
    });

    it("text that the server wraps in JSON as plain text", async () => {
      for (const body of ['"Hallo"', '{"text":"Hallo"}']) {
        answer(wholeResponse(200, body));
        const form = audioForm("wrapped", [{ name: "response_format", value: "text" }]);
        expect((await post(form)).text).toBe("Hallo");
      }
    });

    it("that the server does not know a format that it passes over", async () => {
      answer(wholeResponse(200, '{"text":"Hallo"}'));
      const form = audioForm("passed-over", [{ name: "response_format", value: "srt" }]);
      const error = expectChatError(await post(form), 400, "unsupported_parameter");
      expect(error.param).toBe("response_format");
    });

    it.each<[string, string, string, number]>([
      ["HTML", "text/html", "<html>nginx</html>", 502],
      ["broken JSON", "application/json", '{"text":"Hal', 502],
      ["null", "application/json", "null", 502],
      ["a list", "application/json", "[]", 502],
      ["no text", "application/json", "{}", 502],
      [
        "an error with 200",
        "application/json",
        '{"error":{"message":"bad audio","code":400}}',
        400,
      ],
    ])("none of the server's garbage: %s", async (_, type, body, status) => {
      answer(wholeResponse(200, body, { "content-type": type }));
      const response = await post(audioForm("garbage"));
      expectChatError(response, status);
      expect(response.text).not.toContain("nginx");
    });
  });

  describe("streams", () => {
    const stream = (model: string) => audioForm(model, [{ name: "stream", value: "true" }]);
    const frame = (event: unknown) => chunk(`data: ${JSON.stringify(event)}\n\n`);
    const eventsOf = (text: string) =>
      text
        .split("\n\n")
        .filter((one) => one.startsWith("data: "))
        .map((one) => JSON.parse(one.slice("data: ".length)) as Record<string, unknown>);

    it("the events of OpenAI as they come, with all their fields", async () => {
      const events = [
        {
          type: "transcript.text.delta",
          delta: "Hel",
          logprobs: [{ token: "Hel", logprob: -0.1 }],
        },
        {
          type: "transcript.text.segment",
          id: "seg_1",
          speaker: "A",
          text: "Hello",
          start: 0,
          end: 1,
        },
        { type: "transcript.text.delta", delta: "lo" },
        { type: "transcript.text.done", text: "Hello", usage: TOKENS },
      ];
      answer(SSE, ...events.map(frame), chunk(""));
      const response = await post(stream("openai-stream"));
      expect(response.header("content-type")).toMatch(/^text\/event-stream/);
      expect(eventsOf(response.text)).toEqual(events);
      expect(response.isComplete).toBe(true);
    });

    it("vLLM's chunks as the events of OpenAI", async () => {
      const piece = (content: string, more = {}) =>
        frame({
          id: "trsc-1",
          object: "transcription.chunk",
          choices: [{ delta: { content }, ...more }],
        });
      answer(
        SSE,
        piece("Hel"),
        piece("lo", { finish_reason: "stop" }),
        frame({
          object: "transcription.chunk",
          choices: [],
          usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
        }),
        chunk("data: [DONE]\n\n"),
        chunk(""),
      );
      const response = await post(stream("vllm-stream"));
      expect(eventsOf(response.text)).toEqual([
        { type: "transcript.text.delta", delta: "Hel" },
        { type: "transcript.text.delta", delta: "lo" },
        {
          type: "transcript.text.done",
          text: "Hello",
          usage: { type: "tokens", input_tokens: 12, output_tokens: 3, total_tokens: 15 },
        },
      ]);
    });

    it("a comment into every silence, before the first event too", async () => {
      serve(async ({ socket }) => {
        await sleep(KEEPALIVE_MS * 2.5);
        socket.write(SSE);
        socket.write(frame({ type: "transcript.text.delta", delta: "a" }));
        await sleep(KEEPALIVE_MS * 2.5);
        socket.write(frame({ type: "transcript.text.done", text: "a" }));
        socket.end(chunk(""));
      });
      const { text } = await post(stream("silent"));
      expect(text).toMatch(
        /^(?:: keepalive\n\n){2,}data: .*delta.*\n\n(?:: keepalive\n\n){2,}data: /,
      );
    });

    it.each<[string, (exchange: SpeechExchange) => void]>([
      ["resets", ({ socket }) => void socket.resetAndDestroy()],
      ["closes without its end", ({ socket }) => void socket.end()],
      ["ends without its last event", ({ socket }) => void socket.end(chunk(""))],
      ["is silent for too long", () => undefined],
      ["sends garbage", ({ socket }) => void socket.write(chunk("data: {oops\n\n"))],
      ["sends something else", ({ socket }) => void socket.write(chunk('data: {"a":1}\n\n'))],
      [
        "sends an error",
        ({ socket }) => void socket.write(chunk('data: {"error":{"message":"x"}}\n\n')),
      ],
    ])("an explicit error when the server %s midway", async (name, act) => {
      const model = `midway-${name.replaceAll(" ", "-")}`;
      serve(async (exchange) => {
        exchange.socket.write(SSE);
        exchange.socket.write(frame({ type: "transcript.text.delta", delta: "Hello there" }));
        // What comes together with the first event may be a status still.
        await sleep(50);
        act(exchange);
      });
      const response = await post(stream(model));
      expect(response.isComplete).toBe(true);
      const events = eventsOf(response.text);
      expect(events).toHaveLength(2);
      expectChatForm(events[1]);
      expect(response.text).not.toContain("oops");
    });

    it("an error that comes first as a status", async () => {
      answer(SSE, chunk('data: {"error":{"message":"no such voice","code":400}}\n\n'), chunk(""));
      expectChatError(await post(stream("first-error")), 400);
    });
  });

  describe("refuses", () => {
    const file = { name: "file", value: "RIFF", filename: "a.wav" };
    it.each<[string, readonly FormPiece[], string]>([
      ["a form without a recording", [{ name: "model", value: "m" }], "file"],
      ["an empty form", [], "file"],
      ["a recording that is a text", [{ name: "file", value: "RIFF" }], "file"],
      ["two recordings", [file, file], "file"],
      ["a field of many bytes", [{ name: "stream", value: "t".repeat(9_000) }, file], "stream"],
      ["an unknown format", [file, { name: "response_format", value: "xml" }], "response_format"],
      [
        "an unknown format ahead",
        [{ name: "response_format", value: "" }, file],
        "response_format",
      ],
      ["an unclear stream", [file, { name: "stream", value: "maybe" }], "stream"],
      [
        "a stream of subtitles",
        [file, { name: "stream", value: "true" }, { name: "response_format", value: "srt" }],
        "stream",
      ],
      ["a model of control characters", [file, { name: "model", value: "\0\n" }], "model"],
      ["a model that is too long", [{ name: "model", value: "m".repeat(201) }, file], "model"],
      ["two models", [file, { name: "model", value: "a" }, { name: "model", value: "b" }], "model"],
    ])("%s, naming the field", async (_, pieces, param) => {
      const error = expectChatError(await post(formBytes(pieces)), 400, "invalid_value");
      expect(error.param).toBe(param);
    });

    it.each<[string, Record<string, string | undefined>]>([
      ["JSON", JSON_TYPE],
      ["no type", { "content-type": undefined }],
      ["no boundary", { "content-type": "multipart/form-data" }],
      ["an empty boundary", { "content-type": 'multipart/form-data; boundary=""' }],
      ["another multipart", { "content-type": `multipart/mixed; boundary=${BOUNDARY}` }],
      ["an encoded body", { ...FORM_TYPE, "content-encoding": "gzip" }],
    ])("a body that is no form: %s", async (_, headers) => {
      expectChatError(await post(audioForm("m"), headers), 415, "unsupported_media_type");
    });

    it.each<[string, Buffer]>([
      ["nothing", Buffer.alloc(0)],
      ["no boundary in the body", Buffer.from("hello")],
      ["a part without a name", Buffer.from(`--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`)],
      ["an end too early", audioForm("broken").subarray(0, -20)],
    ])("a broken form: %s", async (_, body) => {
      expectChatError(await post(body), 400, "invalid_value");
    });

    it("a body that is announced too long, unread", async () => {
      // The server has met all earlier calls by then, those that were refused halfway too.
      answer(wholeResponse(200, "{}", JSON_TYPE));
      await post(audioForm("whole"));
      const before = speech.exchanges().length;
      const client = await open(undefined, {
        ...FORM_TYPE,
        "content-length": String(MAX_BYTES + 1),
      });
      const response = await client.readResponse({ method: "POST" });
      expectChatError(response, 413, "request_too_large");
      expect(response.header("connection")).toBe("close");
      expect(speech.exchanges()).toHaveLength(before);
      client.close();
    });

    it("a body that grows too long, and asks no server", async () => {
      const before = speech.exchanges().length;
      const client = await open(undefined, { ...FORM_TYPE, "transfer-encoding": "chunked" });
      const form = formBytes([
        { name: "model", value: "too-long" },
        { ...file, value: " ".repeat(500) },
      ]);
      client.send(chunk(form.subarray(0, 500)));
      const piece = chunk(Buffer.alloc(1024 * 1024));
      for (let sent = 0; sent <= MAX_BYTES; sent += 1024 * 1024) {
        client.send(piece);
        await sleep(1);
      }
      expectChatError(await client.readResponse({ method: "POST" }), 413, "request_too_large");
      expect(speech.exchanges()).toHaveLength(before);
      client.close();
    });

    it.each([
      [400, 400],
      [401, 502],
      [403, 502],
      [404, 502],
      [413, 413],
      [422, 400],
      [429, 429],
      [500, 502],
      [503, 503],
      [529, 503],
    ])("what the server refuses with %i as %i, without its key and address", async (from, to) => {
      const message = `no ${SPEECH_KEY} at ${speech.url}`;
      answer(wholeResponse(from, JSON.stringify({ error: { message } }), JSON_TYPE));
      const response = await post(audioForm(`refused-${from}`));
      expectChatError(response, to);
      expect(response.text).not.toContain(SPEECH_KEY);
      expect(response.text).not.toContain(String(speech.port));
    });

    it("at once what the server refuses before it has the recording", async () => {
      // Left open: closed with bytes unread, the system would reset the connection, and the answer with it.
      speech.use(({ socket }) => {
        socket.pause();
        socket.write(wholeResponse(400, '{"error":"too noisy"}', { connection: "close" }));
      });
      const response = await post(audioForm("early", [], 20_000_000));
      expect(expectChatError(response, 400).message).toBe("too noisy");
    });
  });

  describe("stops the server's work when the client leaves", () => {
    it("while its form arrives: no server is asked", async () => {
      const before = speech.exchanges().length;
      const form = audioForm("left-at-once", [], 500_000);
      const client = await open(undefined, { ...FORM_TYPE, "content-length": `${form.length}` });
      client.send(form.subarray(0, 200_000));
      await sleep(100);
      client.close();
      await sleep(200);
      expect(speech.exchanges()).toHaveLength(before);
    });

    it("while the server takes the form", async () => {
      const coming = speech.nextExchange();
      speech.use(({ socket }) => {
        socket.pause();
        setTimeout(() => socket.resume(), 500);
      });
      const client = await open(audioForm("left-midway-the-form", [], 20_000_000));
      const { closed } = await coming;
      client.close();
      await closed;
    });

    it.each<[string, string]>([
      ["before the answer", ""],
      ["midway a whole answer", wholeResponse(200, '{"text":"Hello."}').toString().slice(0, -5)],
    ])("%s", async (name, bytes) => {
      const coming = speech.nextExchange();
      const client = await open(audioForm(`left-${name.replaceAll(" ", "-")}`));
      const { socket, request, closed } = await coming;
      await request;
      socket.write(bytes);
      await sleep(100);
      client.close();
      await closed;
    });

    it("midway a stream", async () => {
      const coming = speech.nextExchange();
      const client = await open(
        audioForm("left-midway-a-stream", [{ name: "stream", value: "true" }]),
      );
      const { socket, request, closed } = await coming;
      await request;
      socket.write(SSE);
      socket.write(chunk('data: {"type":"transcript.text.delta","delta":"Hello there"}\n\n'));
      await client.readUntil((text) => text.includes("Hello there"));
      client.close();
      await closed;
    });
  });

  it("has exactly one usage row for each call that reached the server", async () => {
    const row = async (model: string) => {
      const { channel, outcome, status, inputTokens, outputTokens, estimated, success } =
        (await rowOf(model)) ?? {};
      expect({ channel, success }).toEqual({ channel: "audio", success: outcome === "ok" });
      return `${outcome} ${status} ${inputTokens} ${outputTokens} ${estimated}`;
    };
    expect(errorLines(stage.gateway)).toEqual([]);
    expect(await row("as-it-came")).toBe("ok 200 0 2 true");
    expect(await row("long")).toBe("ok 200 0 2 true");
    expect(await row("openai-stream")).toBe("ok 200 31 7 false");
    expect(await row("vllm-stream")).toBe("ok 200 12 3 false");
    expect(await row("silent")).toBe("ok 200 0 1 true");
    expect(await row("midway-resets")).toBe("error 200 0 3 true");
    expect(await row("midway-is-silent-for-too-long")).toBe("error 200 0 3 true");
    expect(await row("first-error")).toBe("error 400 0 0 true");
    expect(await row("passed-over")).toBe("error 400 0 2 true");
    expect(await row("refused-401")).toBe("error 502 0 0 true");
    expect(await row("refused-429")).toBe("rate_limited 429 0 0 true");
    expect(await row("left-midway-the-form")).toBe("aborted 499 0 0 true");
    expect(await row("left-before-the-answer")).toBe("aborted 499 0 0 true");
    expect(await row("left-midway-a-whole-answer")).toBe("aborted 499 0 0 true");
    expect(await row("left-midway-a-stream")).toBe("aborted 200 0 3 true");
    // What no server has listed or answered is no model: else each word of a client's would have sums of its own.
    const unknown = (await rows)?.filter(({ model }) => model === "unknown") ?? [];
    expect(unknown.length).toBeGreaterThan(5);
    expect(unknown.filter(({ success }) => success)).toEqual([]);
    for (const word of ["refused-500", "garbage", "early", "m", "too-long", "left-at-once"]) {
      expect((await rows)?.some(({ model }) => model === word)).toBe(false);
    }
  });
});

describe("Recordings are held in memory", () => {
  it("and count among the bodies in hand: one that has no room is refused with 503 and a wait", async () => {
    const speech = await startSpeechServer();
    speech.use(async ({ request, socket }) => {
      await request;
      socket.end(wholeResponse(200, '{"text":"Hello."}'));
    });
    const stage = await startStage({
      engine: "vllm",
      models: [],
      environment: { SPEECH_BASE_URL: `${speech.url}/v1/`, BODIES_IN_HAND_MB: "4" },
    });
    const { port } = stage.gateway;
    const form = audioForm("m", [], 2_000_000);
    const announced = { ...FORM_TYPE, "content-length": `${form.length}` };
    const first = await openCall(port, { path: PATH, headers: announced, body: undefined });
    first.send(form.subarray(0, 1_000));
    await sleep(200);
    const refused = await callGateway(port, { path: PATH, headers: FORM_TYPE, body: form });
    expectChatError(refused, 503, "overloaded");
    expect(Number(refused.header("retry-after"))).toBeGreaterThan(0);
    expect(refused.text).toContain("BODIES_IN_HAND_MB");

    // One of unknown length counts as it comes.
    const chunked = { ...FORM_TYPE, "transfer-encoding": "chunked" };
    const growing = await openCall(port, { path: PATH, headers: chunked, body: undefined });
    growing.send(chunk(form));
    expectChatError(await growing.readResponse({ method: "POST" }), 503, "overloaded");
    growing.close();

    first.send(form.subarray(1_000));
    expect((await first.readResponse({ method: "POST" })).status).toBe(200);
    first.close();
    const again = await callGateway(port, { path: PATH, headers: FORM_TYPE, body: form });
    expect(again.status).toBe(200);
    expect(speech.exchanges()).toHaveLength(2);
    await stage.finish();
    await speech.stop();
  });
});

function hashOf(bytes: Uint8Array | undefined): string {
  return createHash("sha256")
    .update(bytes ?? "")
    .digest("hex");
}
