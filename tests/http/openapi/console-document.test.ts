import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ApiDocument,
  answersOf,
  examplesOf,
  type Json,
  type NamedOperation,
  nullableSchemas,
  operationsOf,
  partsOf,
  resolve,
} from "../../support/api-document.ts";
import { findSchemaFault } from "../../support/check-json-schema.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const PATH = "/api/openapi.json";
const ADMIN_PASSWORD = "the administrator's own password";
const ENGINE = { LLM_BACKEND: "vllm", LLM_BASE_URL: "http://127.0.0.1:9" };
const OPEN = [
  "/api/pipeline/webhook/{id}",
  "/api/auth/login",
  "/api/auth/methods",
  "/api/health",
  "/api/ready",
  "/api/hello",
];
/** Answers that are a file. */
const BINARY = /^(get \/api\/v1\/files\/{id}\/content|post \/api\/admin\/backups) 200/;

describe("GET /api/openapi.json", () => {
  let gateway: TestGateway;
  let admin: string;
  let text: string;
  let document: ApiDocument;
  let operations: readonly NamedOperation[];

  beforeAll(async () => {
    gateway = await startGateway({ ...ENGINE, ADMIN_PASSWORD });
    admin = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
    const headers = { authorization: `Bearer ${admin}` };
    const response = await fetch(gateway.url + PATH, { headers });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    text = await response.text();
    document = JSON.parse(text) as ApiDocument;
    operations = operationsOf(document);
  });
  afterAll(() => gateway?.stop());

  it("is shown to a session only", async () => {
    const status = async (token?: string) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return (await fetch(gateway.url + PATH, { headers })).status;
    };
    expect([await status(), await status(TEST_KEY), await status(admin)]).toEqual([401, 403, 200]);
  });

  it("has no named schema that allows null: each field that refers to one would", () => {
    expect(nullableSchemas(document)).toEqual([]);
  });

  it("describes /api/* only, each operation with an id, a summary, a tag and its answers", () => {
    expect(operations.length).toBeGreaterThan(20);
    const ids = operations.map(([, , { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [where, path, { operationId, summary, tags, responses = {} }] of operations) {
      expect(path).toMatch(/^\/api\//);
      expect([operationId, summary].every(Boolean), where).toBe(true);
      expect(tags, where).toHaveLength(1);
      expect(
        Object.keys(responses).some((status) => /^20[0124]$/.test(status)),
        where,
      ).toBe(true);
    }
  });

  it("has a schema for every answer and every body", () => {
    for (const { where, status, answer } of answersOf(operations)) {
      const isEmpty = status === 204 || where.startsWith("get /api/hello 200");
      const media = (answer["content"] ?? {}) as Readonly<Record<string, Json>>;
      if (isEmpty) expect(media, where).toEqual({});
      else if (BINARY.test(where)) {
        expect(Object.values(media)[0]?.["schema"], where).toBeTruthy();
      } else expect(media["application/json"]?.["schema"], where).toBeTruthy();
    }
    const bodies = operations.flatMap(([where, , { requestBody }]) =>
      requestBody === undefined ? [] : [[where, requestBody] as const],
    );
    expect(bodies.length).toBeGreaterThan(5);
    for (const [where, { content }] of bodies) {
      const [media] = Object.values(content as Readonly<Record<string, Json>>);
      expect(media?.["schema"], where).toBeTruthy();
    }
  });

  it("says who may call, and how a wrong session and a wrong body are refused", () => {
    const { securitySchemes } = document.components;
    for (const [where, path, { security, requestBody, responses = {} }] of operations) {
      const statuses = Object.keys(responses);
      expect(statuses, where).toContain("400");
      if (requestBody !== undefined) {
        expect(statuses, where).toEqual(expect.arrayContaining(["408", "413", "415"]));
      }
      if (OPEN.includes(path)) {
        expect(security, where).toEqual([]);
        continue;
      }
      const isForPeople =
        /^\/api\/(auth|chats|service-tokens|v1|status|models|documents|tools|admin\/(engines|settings|file-connections))|\/(identities|approve|tools\/\{tool\})$/.test(
          path,
        );
      const takesKeys = /^\/api\/(pipeline|datasets)(\/|$)/.test(path);
      expect(security, where).toEqual([
        ...(takesKeys ? [{ bearerKey: [] }, { headerKey: [] }] : []),
        { bearerSession: [] },
        { consoleCookie: [] },
        ...(isForPeople ? [] : [{ serviceToken: [] }]),
      ]);
      expect(statuses, where).toEqual(expect.arrayContaining(["401", "403"]));
    }
    expect(Object.keys(securitySchemes)).toEqual([
      "bearerSession",
      "consoleCookie",
      "bearerKey",
      "headerKey",
      "serviceToken",
    ]);
  });

  it("resolves every reference and names every parameter of a path", () => {
    for (const [, reference] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      expect(resolve(document, reference), reference).toBeTruthy();
    }
    for (const [where, path, { parameters = [] }] of operations) {
      const inPath = parameters.filter((parameter) => parameter["in"] === "path");
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(
        inPath.map(({ name }) => name),
        where,
      ).toEqual(names);
    }
  });

  it("has patterns that compile with and without the flag u, and examples that meet their schemas", async () => {
    for (const { pattern } of partsOf(document)) {
      if (typeof pattern !== "string") continue;
      expect(pattern).not.toMatch(/\/[a-z]*$|\\p\{/);
      for (const flags of ["", "u"]) expect(() => new RegExp(pattern, flags)).not.toThrow();
    }
    const examples = partsOf(document).flatMap(examplesOf);
    expect(examples.length).toBeGreaterThan(50);
    for (const { schema, value } of examples) {
      const fault = findSchemaFault(document as unknown as Json, schema, value);
      expect({ value, fault }).toEqual({ value, fault: undefined });
      // Connections that the server closes in the meantime have to be noticed.
      await nextTurn();
    }
  });

  it("is true of what is answered without an id: the helper compares each answer with it", async () => {
    const gets = operations.filter(([where]) => /^get [^{]*$/.test(where));
    for (const [where, path] of gets) {
      const { status } = await callHttp(gateway.url, { path, token: admin });
      expect([200, 503], where).toContain(status);
      const [wrong] = [await callHttp(gateway.url, { path })];
      expect(wrong.status === 401, where).toBe(!OPEN.includes(path));
    }
  });

  it("has a page that loads it, and is hidden with it by GATEWAY_DOCS_ENABLED=false", async () => {
    const page = await fetch(`${gateway.url}/api/docs`);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    const html = await page.text();
    expect(html).toContain(`url: "${PATH}"`);
    for (const [, file = ""] of html.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)) {
      expect((await fetch(gateway.url + file)).status, file).toBe(200);
    }
    const hidden = await startGateway({ ...ENGINE, GATEWAY_DOCS_ENABLED: "false" });
    const statuses = ["/api/docs", PATH].map(
      async (path) => (await fetch(hidden.url + path)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 404]);
    await hidden.stop();
  });
});
