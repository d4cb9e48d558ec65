import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
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
