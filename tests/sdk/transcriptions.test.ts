import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { chunk, responseHead, wholeResponse } from "../support/servers/scripted-upstream.ts";
import { type SpeechServer, startSpeechServer } from "../support/servers/speech-server.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../support/servers/start-gateway.ts";
import { collect, type EngineGateway, openEngineGateway } from "./engine-gateway.ts";

const WAV_HEADER_BYTES = 44;
const SECOND_BYTES = 32_000;
const PATH = "/v1/audio/transcriptions";
const MODEL = "openai/whisper-large-v3";

describe("4.1 POST /v1/audio/transcriptions by the official client before vllm", () => {
  let world: EngineGateway;
  let client: OpenAI;

  beforeAll(async () => {
    world = await openEngineGateway("vllm");
    client = world.openai;
  });
  beforeEach(() => world.simulator.reset());
  afterAll(() => world?.close());

  const recording = (seconds: number, name = "speech.wav") =>
    toFile(Buffer.alloc(WAV_HEADER_BYTES + seconds * SECOND_BYTES, 7), name);
  const heard = (seconds: number, name = "speech.wav") =>
    `The simulator heard ${name}, ${WAV_HEADER_BYTES + seconds * SECOND_BYTES} bytes.`;
  const askedModels = () =>
    world.simulator
      .ledger()
      .filter(({ path }) => path === PATH)
      .map(({ model }) => model);

  it("transcribes a recording, whichever of file and model comes first", async () => {
    for (const order of ["file", "model"]) {
      const file = await recording(3);
      const form = order === "file" ? { file, model: MODEL } : { model: MODEL, file };
      const answer = await client.audio.transcriptions.create(form);
      expect(answer).toMatchObject({ text: heard(3), usage: { type: "duration", seconds: 3 } });
    }
    expect(askedModels()).toEqual([MODEL, MODEL]);
  });

  it("keeps the name of the file, whatever letters it has", async () => {
    const name = "ünï cödé, mémo ☃.wav";
    const answer = await client.audio.transcriptions.create({
      file: await recording(1, name),
      model: MODEL,
    });
    expect(answer.text).toBe(heard(1, name));
  });

  it("answers verbose_json with the duration as a number", async () => {
    const answer = await client.audio.transcriptions.create({
      file: await recording(2),
      model: MODEL,
      response_format: "verbose_json",
      language: "de",
      timestamp_granularities: ["segment"],
    });
    expect(answer).toMatchObject({ text: heard(2), duration: 2, language: "de" });
    expect(answer.segments).toMatchObject([{ start: 0, end: 2, text: heard(2) }]);
  });

  it.each(["text", "srt", "vtt"] as const)("answers %s as plain text", async (format) => {
    const request = client.audio.transcriptions.create({
      file: await recording(1),
      model: MODEL,
      response_format: format,
    });
    const { data, response } = await request.withResponse();
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(data).toContain(heard(1));
    if (format === "vtt") expect(data).toMatch(/^WEBVTT/);
    if (format === "srt") expect(data).toMatch(/00:00:00,000 --> 00:00:01,000/);
  });

  it("streams a transcript of a server that has none in pieces", async () => {
    const events = await collect(
      await client.audio.transcriptions.create({
        file: await recording(1),
        model: MODEL,
        stream: true,
      }),
    );
    expect(events).toMatchObject([
      { type: "transcript.text.delta", delta: heard(1) },
      { type: "transcript.text.done", text: heard(1), usage: { type: "duration", seconds: 1 } },
    ]);
  });

  it("tells a wrong request of the engine in the engine's words", async () => {
    const error = await client.audio.transcriptions
      .create({ file: await recording(1), model: "sim-chat" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ message: expect.stringContaining("Transcriptions API") });
  });
});

describe("4.1 POST /v1/audio/transcriptions by the official client before ollama", () => {
  let engine: SpeechServer;
  let gateway: TestGateway;
  let client: OpenAI;

  beforeAll(async () => {
    engine = await startSpeechServer();
    gateway = await startGateway({ LLM_BACKEND: "ollama", LLM_BASE_URL: engine.url });
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: TEST_KEY, maxRetries: 0 });
  });
  afterAll(async () => {
    await gateway?.stop();
    await engine?.stop();
  });

  const transcribe = async () => ({
    file: await toFile(Buffer.from("RIFF"), "speech.wav"),
    model: "gemma-next",
  });
  const answer = (...pieces: readonly (string | Uint8Array)[]) =>
    engine.use(async ({ request, socket }) => {
      await request;
      for (const piece of pieces) socket.write(piece);
      socket.end();
    });
  const stream = responseHead(200, {
    "content-type": "text/event-stream",
    "transfer-encoding": "chunked",
  });
  const frame = (event: unknown) => chunk(`data: ${JSON.stringify(event)}\n\n`);

  it("asks the engine's own route and gives its answer", async () => {
    answer(wholeResponse(200, '{"text":"Hello."}'));
    const answered = await client.audio.transcriptions.create(await transcribe());
    expect(answered).toEqual({ text: "Hello." });
    const request = await engine.exchanges()[0]?.request;
    expect(request?.path).toBe(PATH);
    expect(request?.body.toString("latin1")).toContain("gemma-next");
  });

  it("streams what the engine streams", async () => {
    const events = [
      { type: "transcript.text.delta", delta: "Hel" },
      { type: "transcript.text.delta", delta: "lo." },
      { type: "transcript.text.done", text: "Hello." },
    ];
    answer(stream, ...events.map(frame), chunk(""));
    const request = { ...(await transcribe()), stream: true as const };
    expect(await collect(await client.audio.transcriptions.create(request))).toEqual(events);
  });

  it("throws when the engine breaks off midway", async () => {
    engine.use(async ({ request, socket }) => {
      await request;
      socket.write(stream);
      socket.write(frame({ type: "transcript.text.delta", delta: "Hel" }));
      await sleep(100);
      socket.end();
    });
    const request = { ...(await transcribe()), stream: true as const };
    const events = await client.audio.transcriptions.create(request);
    await expect(collect(events)).rejects.toBeInstanceOf(OpenAI.APIError);
  });

  it("throws the engine's refusal as the error it is", async () => {
    answer(wholeResponse(429, '{"error":{"message":"busy"}}'));
    const refused = client.audio.transcriptions.create(await transcribe());
    await expect(refused).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });
});
