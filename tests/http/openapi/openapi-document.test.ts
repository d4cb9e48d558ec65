import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { chatCompletionsServer } from "../../../src/codecs/chat-completions/server.ts";
import {
  type ApiDocument,
  answersOf,
  examplesOf,
  type Json,
  nullableSchemas,
  type Operation,
  operationsOf,
  partsOf,
  resolve,
  schemaOf,
} from "../../support/api-document.ts";
import { findSchemaFault } from "../../support/check-json-schema.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const METHODS = ["get", "post", "put", "patch", "delete"];
/** 5: what needs no key. */
const OPEN_PATHS = ["/v1/health"];
/** 7: what every error is, in the chat form and in the messages form. */
const CHAT_FORM = {
  error: {
    properties: { message: {}, type: {}, param: {}, code: {} },
    required: ["message", "type", "param", "code"],
  },
};
const MESSAGES_FORM = {
  type: { enum: ["error"] },
  error: { properties: { type: {}, message: {} }, required: ["type", "message"] },
};
/** 4.1: the fields of a chat-completion request. */
const CHAT_FIELDS = [
  "model",
  "messages",
  "stream",
  "stream_options",
  "temperature",
  "top_p",
  "top_k",
  "max_tokens",
  "max_completion_tokens",
  "reasoning_effort",
  "tools",
  "tool_choice",
  "n",
  "metadata",
  "stop",
  "seed",
  "response_format",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
];

describe("4.6 GET /v1/openapi.json", () => {
  let gateway: TestGateway;
  let text: string;
  let document: ApiDocument;
  let health: Json;
  let operations: readonly (readonly [where: string, path: string, operation: Operation])[];

  beforeAll(async () => {
    gateway = await startGateway({ LLM_BACKEND: "vllm", LLM_BASE_URL: "http://127.0.0.1:9" });
    const response = await fetch(`${gateway.url}/v1/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    text = await response.text();
    document = JSON.parse(text) as ApiDocument;
    operations = operationsOf(document);
    // Together with the document: the server closes a connection that is quiet for long, as it is during the tests.
    const answer = await fetch(`${gateway.url}/v1/health`, {
      headers: { authorization: `Bearer ${TEST_KEY}` },
    });
    health = (await answer.json()) as Json;
  });
  afterAll(() => gateway?.stop());

  it("has no named schema that allows null: each field that refers to one would", () => {
    expect(nullableSchemas(document)).toEqual([]);
  });

  it("is the definition of this version, the same on each call", async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info).toMatchObject({
      title: expect.any(String),
      version: packageJson.version,
    });
    const again = await Promise.all(
      [1, 2, 3].map(async () => (await fetch(`${gateway.url}/v1/openapi.json`)).text()),
    );
    expect(new Set(again)).toEqual(new Set([text]));
  });

  it("tells of /v1/* and /mcp alone, each path under its methods", () => {
    const paths = Object.keys(document.paths);
    expect(paths).toEqual(
      expect.arrayContaining([
        "/v1/chat/completions",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/health",
        "/mcp",
      ]),
    );
    for (const path of paths) expect(path).toMatch(/^\/(v1\/|mcp$)/);
    for (const item of Object.values(document.paths)) {
      expect(METHODS).toEqual(expect.arrayContaining(Object.keys(item)));
    }
  });

  it("gives every operation an id of its own, a summary, a tag and answers", () => {
    const ids = operations.map(([, , { operationId }]) => operationId);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [where, , { summary, tags, responses = {} }] of operations) {
      expect(summary, where).toBeTruthy();
      expect(tags, where).toHaveLength(1);
      const statuses = Object.keys(responses);
      expect(statuses.includes("200") || statuses.includes("201"), where).toBe(true);
      for (const [status, { description }] of Object.entries(responses)) {
        expect(status, where).toMatch(/^[2-5]\d\d$/);
        expect(description, `${where} ${status}`).toBeTruthy();
      }
    }
  });

  it("says of every operation with a JSON body how the body may be refused", () => {
    const withBody = operations.filter(
      ([, , { requestBody }]) =>
        requestBody !== undefined && "application/json" in (requestBody["content"] as Json),
    );
    expect(withBody.length).toBeGreaterThan(5);
    for (const [where, , { responses }] of withBody) {
      const statuses = Object.keys(responses ?? {});
      expect(statuses, where).toEqual(expect.arrayContaining(["400", "408", "413", "415"]));
    }
  });

  it("says of every operation whether it takes a key, and what a wrong key is answered", () => {
    const schemes = Object.keys(document.components.securitySchemes);
    for (const [where, path, { security, responses = {} }] of operations) {
      if (OPEN_PATHS.includes(path)) {
        expect(security, where).toEqual([]);
        continue;
      }
      if (path.startsWith("/v1/data")) {
        expect(security?.[0], where).toEqual({ bearerBiKey: [] });
        expect(Object.keys(responses), where).toContain("401");
        continue;
      }
      const isOfKeys = /^\/v1\/(api|bi)-keys(?!.*usage)/.test(path);
      expect(security, where).toEqual([
        { bearerKey: [] },
        { headerKey: [] },
        ...(isOfKeys ? [{ serviceToken: [] }] : []),
      ]);
      for (const choice of security ?? [])
        expect(schemes).toEqual(expect.arrayContaining(Object.keys(choice)));
      expect(Object.keys(responses), where).toContain("401");
      expect(Object.keys(responses), where).not.toContain("422");
    }
  });

  it("is true of which operations take a key", async () => {
    for (const [where, path, { security }] of operations) {
      const [method = "get"] = where.split(" ");
      const url = gateway.url + path.replace("{model}", "any");
      const init = method === "post" ? { body: "{}", headers: JSON_TYPE } : {};
      const response = await fetch(url, { method: method.toUpperCase(), ...init });
      const isClosed = (security ?? []).length > 0;
      expect(response.status === 401, where).toBe(isClosed);
      if (isClosed) expect(response.headers.get("www-authenticate"), where).toBe("Bearer");
    }
  });

  it("resolves every reference and names every parameter of a path", () => {
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference);
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references)
      expect(resolve(document, reference), reference).toBeTruthy();
    for (const [where, path, { parameters = [] }] of operations) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const inPath = parameters.filter((parameter) => parameter["in"] === "path");
      expect(
        inPath.map(({ name }) => name),
        where,
      ).toEqual(names);
      for (const parameter of inPath) expect(parameter["required"], where).toBe(true);
    }
  });

  it("describes errors in the form of the family", () => {
    for (const [where, path, { responses = {} }] of operations) {
      const form = path.startsWith("/v1/messages") ? MESSAGES_FORM : CHAT_FORM;
      for (const [status, response] of Object.entries(responses)) {
        // The protocol of tools has an error of its own for a method that is not served.
        if (!/^[45]/.test(status) || (path === "/mcp" && status === "404")) continue;
        const schema = schemaOf(document, response, "application/json");
        expect(schema, `${where} ${status}`).toMatchObject({ properties: form });
      }
    }
  });

  it.each(CHAT_FIELDS)("describes the chat-completion field %s", (field) => {
    const operation = document.paths["/v1/chat/completions"]?.["post"];
    const schema = schemaOf(document, operation?.requestBody, "application/json");
    const properties = schema["properties"] as Readonly<Record<string, Json>>;
    expect(properties[field]?.["description"]).toEqual(expect.stringMatching(/\w{3}/));
  });

  it("requires of a chat completion its messages alone, in the roles that exist", () => {
    const operation = document.paths["/v1/chat/completions"]?.["post"];
    expect(operation?.requestBody?.["required"]).toBe(true);
    const schema = schemaOf(document, operation?.requestBody, "application/json");
    expect(schema["required"]).toEqual(["messages"]);
    const { messages } = schema["properties"] as { messages: Json };
    for (const role of ["system", "developer", "user", "assistant", "tool"]) {
      expect(JSON.stringify(messages)).toContain(`"${role}"`);
    }
    const answer = operation?.responses?.["200"];
    const chunk = schemaOf(document, answer, "text/event-stream");
    expect(JSON.stringify(chunk)).toContain("chat.completion.chunk");
    const whole = schemaOf(document, answer, "application/json");
    expect(whole["required"]).toEqual(expect.arrayContaining(["id", "object", "model", "choices"]));
  });

  it("has patterns that mean the same with and without the flag u, and that examples meet", () => {
    const patterns = partsOf(document).flatMap(({ pattern }) =>
      typeof pattern === "string" ? [pattern] : [],
    );
    expect(patterns.length).toBeGreaterThan(10);
    for (const pattern of patterns) {
      expect(pattern).not.toMatch(/\/[a-z]*$|\\p\{/);
      for (const flags of ["", "u"]) expect(() => new RegExp(pattern, flags)).not.toThrow();
    }
    const name = partsOf(document.components.schemas).find(
      ({ example }) => example === "monthly report",
    );
    for (const flags of ["", "u"]) {
      const pattern = new RegExp(String(name?.["pattern"]), flags);
      const isMet = ["monthly report", "Bücher 📚", "a\nb", "\u0085", ""].map((text) =>
        pattern.test(text),
      );
      expect(isMet).toEqual([true, true, false, false, false]);
    }
  });

  it("has examples that meet their schemas, of every error and of keys with their secret", async () => {
    const examples = partsOf(document).flatMap(examplesOf);
    expect(examples.length).toBeGreaterThan(100);
    for (const { schema, value } of examples) {
      const fault = findSchemaFault(document as unknown as Json, schema, value);
      expect({ value, fault }).toEqual({ value, fault: undefined });
      // Connections that the server closes in the meantime have to be noticed.
      await nextTurn();
    }
    for (const name of ["IssuedApiKey", "IssuedBiKey"]) {
      const { example } = document.components.schemas[name] as { example: Json };
      expect(example["key"]).toMatch(/^[sb]k-\w{43}$/);
    }
    for (const { where, status, answer } of answersOf(operations)) {
      if (status < 400) continue;
      const { example } = (answer["content"] as Json)["application/json"] as { example?: unknown };
      expect(`${where} ${JSON.stringify(example)}`).toMatch(/"message":"[^"]{10,}/);
    }
  });

  it("names the headers of every answer", () => {
    const also = new Map([
      [401, "www-authenticate"],
      [429, "ratelimit-"],
      [503, "retry-after"],
    ]);
    for (const { where, status, answer } of answersOf(operations)) {
      const names = Object.keys((answer["headers"] ?? {}) as Json).join();
      expect(names, where).toContain("x-request-id");
      // A reader of data has no limits of an API key: one of its reads has to end first.
      const isOfData = status === 429 && where.includes("/v1/data");
      expect(names, where).toContain(isOfData ? "retry-after" : (also.get(status) ?? ""));
    }
  });

  it("lists the words that a field knows", () => {
    const words = partsOf(document).flatMap((part) => part["enum"] ?? []);
    for (const known of ["minimal", "xhigh", "concise", "rate_limit_error", "invalid_api_key"]) {
      expect(words).toContain(known);
    }
  });

  it("offers examples of a chat completion that are right", () => {
    const body = document.paths["/v1/chat/completions"]?.["post"]?.requestBody;
    const content = body?.["content"] as Readonly<Record<string, { examples: Json }>>;
    const examples = Object.values(content["application/json"]?.examples ?? {});
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const { summary, value } = example as { summary: string; value: unknown };
      expect(summary).toBeTruthy();
      expect(chatCompletionsServer.parse(value, "").request.messages.length).toBeGreaterThan(0);
    }
  });

  it("holds true of a real answer's fields", async () => {
    const answer = document.paths["/v1/health"]?.["get"]?.responses?.["200"];
    const schema = schemaOf(document, answer, "application/json");
    expect(Object.keys(schema["properties"] as Json).sort()).toEqual(Object.keys(health).sort());
  });
});

const JSON_TYPE = { "content-type": "application/json" };
