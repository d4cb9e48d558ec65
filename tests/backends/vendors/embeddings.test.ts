import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { dedicatedUpstream } from "../../../src/backends/upstream/dedicated-upstream.ts";
import {
  createEmbeddings,
  type EmbeddingsOptions,
} from "../../../src/backends/vendors/embeddings.ts";
import type { EmbeddingRequest } from "../../../src/core/embedding.ts";
import type { Clock } from "../../../src/lib/time/clock.ts";
import { ENGINE_KEY, never, serviceErrorOf, upstreamAt } from "../support.ts";

type Answer = readonly [status: number, body: unknown];
type Answers = (path: string, body: Record<string, unknown>) => Answer;

const servers: Server[] = [];
const REQUEST: EmbeddingRequest = {
  model: undefined,
  inputs: ["hello"],
  dimensions: undefined,
  encoding: "base64",
  extra: {},
};
const VECTOR: Answer = [200, { data: [{ embedding: [1, 2] }] }];
const listOf = (...ids: readonly string[]): Answer => [200, { data: ids.map((id) => ({ id })) }];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** An engine that answers so, and what it was asked. */
async function startEngine(answers: Answers) {
  const asked: { path: string; body: Record<string, unknown>; key: string | undefined }[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    const body = await readJson(request);
    asked.push({ path, body, key: request.headers.authorization });
    const [status, answer] = answers(path, body);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const bytes of request) text += String(bytes);
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}

async function openEngine(answers: Answers, options: Partial<EmbeddingsOptions> = {}) {
  const { address, asked } = await startEngine(answers);
  const embeddings = createEmbeddings({
    upstream: upstreamAt(address),
    kind: "vllm",
    isDedicated: false,
    defaultModel: undefined,
    ...options,
  });
  return { embeddings, asked, address };
}

describe("The model that embeds", () => {
  const LISTED = ["Qwen/Qwen3-8B", "BAAI/bge-reranker-v2", "BAAI/bge-m3", "intfloat/e5-large"];

  it("is the one that is named, else the engine's first, and never one that chats or ranks", async () => {
    const { embeddings } = await openEngine(() => listOf(...LISTED));
    expect(await embeddings.resolve("intfloat/e5-large")).toBe("intfloat/e5-large");
    for (const word of [undefined, "text-embedding-3-small", ...LISTED.slice(0, 3)]) {
      expect(await embeddings.resolve(word)).toBe("BAAI/bge-m3");
    }
  });

  it("is the default of the settings for any other word, whatever its name and the list", async () => {
    const settings = { defaultModel: "vectors" };
    const { embeddings } = await openEngine(() => listOf(...LISTED), settings);
    expect(await embeddings.resolve("unknown")).toBe("vectors");
    expect(await embeddings.resolve("vectors")).toBe("vectors");
    expect(await embeddings.resolve("BAAI/bge-m3")).toBe("BAAI/bge-m3");
    const unlisted = await openEngine(() => [404, {}], settings);
    expect(await unlisted.embeddings.resolve("unknown")).toBe("vectors");
  });

  it("is any model of a server that is there to embed, where no name tells", async () => {
    const isDedicated = { isDedicated: true };
    const { embeddings } = await openEngine(() => listOf("whisper", "vectors"), isDedicated);
    expect(await embeddings.resolve(undefined)).toBe("vectors");
    const mixed = await openEngine(() => listOf("gpt-4o", "text-embedding-3-small"), isDedicated);
    expect(await mixed.embeddings.resolve("gpt-4o")).toBe("text-embedding-3-small");
  });

  it("is told by Ollama's capabilities, asked one by one of an old engine, and known without its tag", async () => {
    const capabilities = new Map([
      ["qwen3:latest", ["completion"]],
      ["odd-name:latest", ["embedding"]],
    ]);
    for (const isOld of [false, true]) {
      const { embeddings } = await openEngine(
        (path, body) => {
          if (path === "/api/show") {
            return [200, { capabilities: capabilities.get(String(body["model"])) }];
          }
          const models = [...capabilities].map(([name, able]) => ({
            name,
            ...(!isOld && { capabilities: able }),
          }));
          return [200, { models }];
        },
        { kind: "ollama" },
      );
      for (const word of [undefined, "qwen3", "odd-name", "odd-name:latest"]) {
        expect(await embeddings.resolve(word)).toBe("odd-name:latest");
      }
    }
  });

  it("is missed with words that say what to set", async () => {
    const { embeddings } = await openEngine(() => listOf("Qwen/Qwen3-8B"));
    const error = await serviceErrorOf(Promise.resolve().then(() => embeddings.resolve(undefined)));
    expect(error).toMatchObject({ code: "upstream_error" });
    expect(error.message).toMatch(/EMBEDDING_MODEL.*EMBEDDING_BASE_URL/);
  });

  it("is asked for again when the list is old, and at once after a failure", async () => {
    let now = 0;
    const clock: Clock = { now: () => now };
    let answer: Answer = [500, {}];
    const { address } = await startEngine(() => answer);
    const embeddings = createEmbeddings({
      upstream: { ...upstreamAt(address), clock },
      kind: "vllm",
      isDedicated: false,
      defaultModel: undefined,
    });
    await serviceErrorOf(Promise.resolve().then(() => embeddings.resolve(undefined)));
    answer = listOf("first-embed");
    now = 1_000;
    expect(await embeddings.resolve(undefined)).toBe("first-embed");
    answer = listOf("second-embed");
    now = 15_999;
    expect(await embeddings.resolve(undefined)).toBe("first-embed");
    now = 16_000;
    expect(await embeddings.resolve("second-embed")).toBe("second-embed");
  });
});

describe("A call that embeds", () => {
  it("asks again for numbers where the server knows no base64", async () => {
    const { embeddings, asked } = await openEngine((_, { encoding_format }) =>
      encoding_format === "base64"
        ? [400, { error: { message: "encoding_format must be float" } }]
        : VECTOR,
    );
    expect(await embeddings.embed(REQUEST, "m", { signal: never() })).toMatchObject({
      vectors: [[1, 2]],
    });
    expect(asked.map(({ body }) => body["encoding_format"])).toEqual(["base64", "float"]);
  });

  it("keeps from the engine what would harm its other users", async () => {
    const { embeddings, asked } = await openEngine(() => VECTOR);
    const extra = {
      user: "u",
      priority: 1,
      keep_alive: -1,
      options: { num_ctx: 1 },
      truncate: true,
    };
    await embeddings.embed({ ...REQUEST, extra }, "m", { signal: never() });
    const body = { model: "m", input: "hello", encoding_format: "base64" };
    expect(asked[0]?.body).toEqual({ ...body, user: "u", truncate: true });
  });

  it("goes to a server of its own with its own key, or none, and never the local engine's", async () => {
    for (const apiKey of ["its-own-key", undefined]) {
      for (const end of ["", "/v1"]) {
        const { address, asked } = await startEngine(() => VECTOR);
        const server = {
          address: address + end,
          addressSetting: "EMBEDDING_BASE_URL",
          apiKey,
          retries: 0,
        };
        const upstream = dedicatedUpstream(server, upstreamAt("http://127.0.0.1:1"));
        if (upstream === undefined) throw new Error("no server");
        const options = { kind: "vllm", isDedicated: true, defaultModel: "m" } as const;
        await createEmbeddings({ ...options, upstream }).embed(REQUEST, "m", { signal: never() });
        expect(asked).toMatchObject([{ path: "/v1/embeddings" }]);
        expect(asked[0]?.key).toBe(apiKey && `Bearer ${apiKey}`);
      }
    }
  });

  it("tells of an overlong input in the one code for it", async () => {
    const message = `This model's maximum context length is 512 tokens. However, you requested 900 tokens in the input for embedding generation. ${ENGINE_KEY}`;
    const { embeddings } = await openEngine(() => [400, { error: { message } }]);
    const error = await serviceErrorOf(embeddings.embed(REQUEST, "m", { signal: never() }));
    expect(error).toMatchObject({ code: "context_length_exceeded", param: "input" });
    expect(error.message).not.toContain(ENGINE_KEY);
  });
});
