import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { CLIENT_FAMILIES, type ClientFamily } from "../../support/clients/client-family.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import {
  CHAT_CALLS,
  expectCleanOutput,
  type Stage,
  startStage,
} from "../../support/stages/engine-stage.ts";

/** A route that takes JSON, beside the chat route that has cases of its own. */
type Route = Pick<ClientFamily, "path" | "body" | "expectError"> & { readonly name: string };

const EMBEDDINGS = "/v1/embeddings";
const embeddings: Route = {
  name: "embeddings",
  path: EMBEDDINGS,
  body: (model, more = {}) => ({ model: `${model}-embed`, input: "Tell me something.", ...more }),
  expectError: (response, status, code) => expectChatError(response, status, code).type,
};
const ROUTES: readonly Route[] = [
  ...CLIENT_FAMILIES.filter(({ name }) => name !== "chat"),
  embeddings,
];

const table = createCaseTable();
let stage: Stage;

beforeAll(async () => {
  const chats = ["first", "second"].map((name) => ({
    name,
    contextLength: 32_768,
    capabilities: ["completion", "tools", "thinking"] as const,
  }));
  const embedder = {
    name: "first-embed",
    contextLength: 2_048,
    capabilities: ["embedding"] as const,
  };
  stage = await startStage({
    engine: "vllm",
    models: [],
    simulator: { models: [...chats, embedder] },
  });
});
afterAll(() => stage.finish());

for (const route of ROUTES) describe(`requests of ${route.name}`, () => casesOf(route));

function casesOf(route: Route): void {
  const shows = (id: string, where: string, sentence: string, test: () => Promise<void>) =>
    table.shows(id, `${route.name}${where}`, sentence, test);
  const call = (body: unknown, headers: Readonly<Record<string, string | undefined>> = {}) =>
    callGateway(stage.gateway.port, { path: route.path, body, headers });
  const asked = () =>
    stage.simulator.ledger().filter(({ path }) => path === CHAT_CALLS.vllm || path === EMBEDDINGS);
  const expectNormalCall = async () => expect((await call(route.body("first"))).status).toBe(200);
  const expectRefused = async (
    response: Promise<RawResponse>,
    status: number,
    code?: string,
  ): Promise<void> => {
    const before = asked().length;
    route.expectError(await response, status, code);
    expect(asked()).toHaveLength(before);
  };

  for (const depth of [129, 10_000, 1_000_000]) {
    shows("H05", `: depth ${depth}`, "is refused", async () => {
      const nested = `${"[".repeat(depth)}1${"]".repeat(depth)}`;
      const base = JSON.stringify(route.body("first")).slice(0, -1);
      await expectRefused(call(`${base},"tools":${nested}}`), 400, "invalid_json");
      await expectNormalCall();
    });
  }

  for (const body of ["{", "", "null", "[]", '"x"', "1", "{}{}", "{'a':1}", "\u0000"]) {
    shows("H06", `: ${JSON.stringify(body)}`, "is a 400 in the route's form", async () => {
      const bytes = Buffer.from(body);
      await expectRefused(call(bytes, { "content-length": String(bytes.length) }), 400);
    });
  }

  shows("H07", ": wrong UTF-8", "is a 400 and not replaced", async () => {
    const [before = "", after = ""] = JSON.stringify(route.body("first")).split("something");
    for (const bytes of [[0xff], [0xe6, 0xbc], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
      await expectRefused(call(body), 400, "invalid_json");
    }
  });

  shows("H08", ": model twice", "has one meaning everywhere", async () => {
    const text = `${JSON.stringify(route.body("second")).slice(0, -1)},"model":"first"}`;
    const response = await call(text);
    expect(response.status).toBe(200);
    const { model } = response.json() as { model: string };
    expect(asked().at(-1)?.model).toBe(model);
  });

  shows("H09", ": dangerous names", "are plain data", async () => {
    const base = JSON.stringify(route.body("first")).slice(0, -1);
    for (const more of [
      '"__proto__":{"stream":true,"n":5,"polluted":1}',
      '"constructor":{"prototype":{"stream":true,"n":5}}',
      '"metadata":{"__proto__":{"ext":{"thinking":true}}}',
    ]) {
      const response = await call(`${base},${more}}`);
      if (response.status !== 200) route.expectError(response, 400);
      else expect(response.header("content-type")).toMatch(/^application\/json/);
      expect(Object.keys(JSON.parse(asked().at(-1)?.body ?? "{}"))).not.toContain("n");
    }
    await expectNormalCall();
  });

  for (const type of [undefined, "text/plain", "application/json; charset=utf-16"]) {
    shows("H10", `: ${type ?? "no content type"}`, "is 415", async () => {
      const refused = call(route.body("first"), { "content-type": type });
      await expectRefused(refused, 415, "unsupported_media_type");
    });
  }

  shows("H11", ": compressed", "is refused unread", async () => {
    const bytes = gzipSync(JSON.stringify(route.body("first")));
    const refused = call(bytes, { "content-encoding": "gzip" });
    await expectRefused(refused, 415, "unsupported_media_type");
  });

  shows("H12", ": headers", "of the client never reach the engine", async () => {
    const canary = "canary-of-the-client";
    const names = ["cookie", "x-forwarded-for", "x-request-id", "anthropic-beta", "traceparent"];
    const headers = Object.fromEntries(names.map((name) => [name, canary]));
    expect((await call(route.body("first"), headers)).status).toBe(200);
    expect(JSON.stringify(asked().at(-1)?.headers)).not.toContain(canary);
  });

  shows("O04", ": log", "has no secret and no failure of ours", async () => {
    expectCleanOutput(stage.gateway);
  });
}
