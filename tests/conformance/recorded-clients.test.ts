import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSharedFixtures } from "../support/shared-fixtures.ts";
import { BACKENDS, type BackendName } from "./backends.ts";
import { expectWholeStream } from "./expect-whole-stream.ts";
import { OWN_RECORDINGS, type Recording } from "./own-recordings.ts";
import { type Stage, startStage } from "./stage.ts";

const MODEL_PATHS = /^\/v1\/(chat\/completions|messages|responses)(\/count_tokens)?(\?|$)/;
const TARGETS: readonly BackendName[] = ["vllm", "ollama", "openai", "anthropic"];
/** Set by the client library anew for each call. */
const NOT_REPLAYED = ["authorization", "x-api-key", "content-length", "host", "accept-encoding"];

const shared = readSharedFixtures(["clients"], ".json").map(({ name, bytes }): Recording => {
  const { path, headers, body } = JSON.parse(new TextDecoder().decode(bytes));
  return { name, path, headers, body };
});
const recordings = [...OWN_RECORDINGS, ...shared].filter(({ path }) => MODEL_PATHS.test(path));

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

describe.each(TARGETS)("what coding agents send, answered by %s", (target) => {
  it.each(recordings.map((recording) => [recording.name, recording] as const))(
    "%s",
    async (_name, recording) => {
      const response = await replay(recording, target);
      const text = await response.text();
      expect([response.status, text.slice(0, 500)]).toEqual([200, expect.any(String)]);
      if (recording.path.includes("count_tokens")) {
        expect(JSON.parse(text).input_tokens).toBeGreaterThan(0);
      } else if (recording.body["stream"] === true) {
        expectWholeStream(recording.path, text);
      } else {
        expect(JSON.parse(text).model).toBe(modelOf(target));
      }
    },
  );
});

function modelOf(target: BackendName): string {
  return BACKENDS.find(({ name }) => name === target)?.model ?? "";
}

/** The request as it was recorded, to another model and with our key in the header that the client used. */
function replay({ path, headers, body }: Recording, target: BackendName): Promise<Response> {
  const kept = Object.entries(headers).filter(
    // What was made unreadable in the recording is no header any more.
    ([name, value]) => !NOT_REPLAYED.includes(name) && /^[ -~]*$/.test(value),
  );
  const key = stage.keys.passthrough;
  const credential: [string, string] =
    "x-api-key" in headers ? ["x-api-key", key] : ["authorization", `Bearer ${key}`];
  return fetch(stage.urlOf(target) + path, {
    method: "POST",
    headers: [...kept, credential],
    body: JSON.stringify({ ...body, model: modelOf(target) }),
  });
}
