import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createSpeech, type SpeechOptions } from "../../../src/backends/vendors/speech.ts";
import type { TranscriptionRequest } from "../../../src/core/transcription.ts";
import { textPart } from "../../../src/lib/multipart/write-multipart.ts";
import { never, serviceErrorOf, upstreamAt } from "../support.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Speech before a server that lists these models; undefined lists none at all. */
async function openSpeech(list: unknown, options: Partial<SpeechOptions> = {}) {
  const server = createServer((request, response) => {
    const isList = request.url === "/v1/models" || request.url === "/api/tags";
    response.writeHead(isList && list !== undefined ? 200 : 404);
    response.end(JSON.stringify(list ?? {}));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const upstream = upstreamAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return createSpeech({ upstream, kind: "vllm", isDedicated: false, ...options });
}

const cards = (...ids: readonly string[]) => ({ data: ids.map((id) => ({ id })) });

describe("A local engine that does not transcribe", () => {
  const request: TranscriptionRequest = {
    model: undefined,
    format: "json",
    stream: false,
    parts: [{ name: "file", filename: "a.wav", ...textPart("file", "RIFF") }],
  };

  it("is told from a failure: the setting is named, and no retry helps", async () => {
    const speech = await openSpeech(undefined);
    const error = await serviceErrorOf(speech.transcribe(request, undefined, { signal: never() }));
    expect(error).toMatchObject({ code: "not_found", status: 404, shouldRetry: false });
    expect(error.message).toContain("SPEECH_BASE_URL");
  });

  it("is not looked for where the operator names a speech server", async () => {
    const speech = await openSpeech(undefined, { isDedicated: true });
    const error = await serviceErrorOf(speech.transcribe(request, undefined, { signal: never() }));
    expect(error).toMatchObject({ code: "upstream_error", status: 502 });
  });
});

describe("The model that transcribes", () => {
  it("is the one that is named, where the server lists it", async () => {
    const speech = await openSpeech(cards("Qwen/Qwen3-8B", "openai/whisper-large-v3"));
    expect(await speech.modelFor("Qwen/Qwen3-8B")).toBe("Qwen/Qwen3-8B");
  });

  it("is the local engine's first that does, for a missing and an unknown name", async () => {
    const speech = await openSpeech(cards("Qwen/Qwen3-8B", "openai/whisper-large-v3"));
    expect(await speech.modelFor(undefined)).toBe("openai/whisper-large-v3");
    expect(await speech.modelFor("whisper-1")).toBe("openai/whisper-large-v3");
  });

  it("is told by Ollama's capabilities, and known without its tag", async () => {
    const models = [
      { name: "qwen3:latest", capabilities: ["completion"] },
      { name: "gemma-next:latest", capabilities: ["completion", "audio"] },
    ];
    const speech = await openSpeech({ models }, { kind: "ollama" });
    expect(await speech.modelFor("qwen3")).toBe("qwen3:latest");
    expect(await speech.modelFor("whisper-1")).toBe("gemma-next:latest");
  });

  it("is left to a server that is there to transcribe, and may load what it does not list", async () => {
    const speech = await openSpeech(cards("large-v3", "small"), { isDedicated: true });
    expect(await speech.modelFor("distil-large-v3")).toBe("distil-large-v3");
    expect(await speech.modelFor(undefined)).toBe("large-v3");
  });

  it("is told to be listed only by its whole name", async () => {
    const speech = await openSpeech(cards("large-v3"), { isDedicated: true });
    expect(speech.isListed("large-v3")).toBe(false);
    await speech.modelFor("small");
    expect(["large-v3", "large", "small"].map(speech.isListed)).toEqual([true, false, false]);
  });

  it("stands as it came where nothing is known of the server's models", async () => {
    for (const isDedicated of [false, true]) {
      const speech = await openSpeech(undefined, { isDedicated });
      expect(await speech.modelFor("whisper-1")).toBe("whisper-1");
      expect(await speech.modelFor(undefined)).toBeUndefined();
    }
    const chats = await openSpeech(cards("Qwen/Qwen3-8B"));
    expect(await chats.modelFor("whisper-1")).toBe("whisper-1");
    expect(await chats.modelFor(undefined)).toBeUndefined();
  });
});
