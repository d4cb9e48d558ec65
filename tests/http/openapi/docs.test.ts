import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";

const PATHS = ["/v1/docs", "/v1/openapi.json"];
const NOBODY = { LLM_BACKEND: "vllm", LLM_BASE_URL: "http://127.0.0.1:9" };

describe("4.6 GET /v1/docs", () => {
  let shown: TestGateway;
  let hidden: TestGateway;

  beforeAll(async () => {
    [shown, hidden] = await Promise.all([
      startGateway({ ...NOBODY, CONSOLE_ENABLED: "0" }),
      startGateway({ ...NOBODY, CONSOLE_ENABLED: "0", GATEWAY_DOCS_ENABLED: "false" }),
    ]);
  });
  afterAll(() => Promise.all([shown?.stop(), hidden?.stop()]));

  it("is a page, shown without a key", async () => {
    const response = await fetch(`${shown.url}/v1/docs`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await response.text()).toContain("/v1/openapi.json");
  });

  it("is where a browser is sent that asks for the root; others are told that nothing is there", async () => {
    const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const sent = await fetch(shown.url, { headers: browser, redirect: "manual" });
    expect([sent.status, sent.headers.get("location")]).toEqual([302, "/v1/docs"]);
    const page = await fetch(shown.url, { headers: browser });
    expect([page.status, page.url]).toEqual([200, `${shown.url}/v1/docs`]);
    expect((await fetch(shown.url)).status).toBe(404);
    expect((await fetch(shown.url, { method: "POST", headers: browser })).status).toBe(404);
    expect((await fetch(hidden.url, { headers: browser })).status).toBe(404);
  });

  it("takes every file it needs from this server and names no other host", async () => {
    const page = await (await fetch(`${shown.url}/v1/docs`)).text();
    const files = [...page.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(
      ([, path]) => path ?? "",
    );
    expect(files).toHaveLength(2);
    expect(page).not.toMatch(/https?:|"\/\//);
    const types = [];
    for (const path of files) {
      expect(path).toMatch(/^\/v1\/docs\//);
      const response = await fetch(shown.url + path);
      expect(response.status).toBe(200);
      types.push(response.headers.get("content-type"));
      const text = await response.text();
      expect(text.length).toBeGreaterThan(50_000);
      // A style sheet loads what it names; a program may hold addresses that it never calls.
      if (path.endsWith(".css")) expect(text).not.toMatch(/@import|url\(\s*["']?(?:https?:)?\/\//i);
    }
    expect(types).toEqual(["text/css; charset=utf-8", "text/javascript; charset=utf-8"]);
  });

  it("lets a browser load and call nothing but this server, and frame it nowhere", async () => {
    const policy = (await fetch(`${shown.url}/v1/docs`)).headers.get("content-security-policy");
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:|\*/);
  });

  it("serves no other file from beside them", async () => {
    for (const name of [
      "package.json",
      "index.html",
      "swagger-initializer.js",
      "oauth2-redirect.html",
    ]) {
      expect((await fetch(`${shown.url}/v1/docs/${name}`)).status).toBe(404);
    }
    expect((await fetch(`${shown.url}/v1/docs/..%2fpackage.json`)).status).toBe(400);
  });

  it("lets no address of the page point a browser at another definition", async () => {
    const page = await (await fetch(`${shown.url}/v1/docs?url=http://evil.example/x.json`)).text();
    expect(page).not.toContain("evil");
    expect(page).not.toContain("queryConfigEnabled: true");
  });

  it("is hidden with its definition and its files when GATEWAY_DOCS_ENABLED=false", async () => {
    for (const path of [...PATHS, "/v1/docs/swagger-ui.css", "/v1/docs/swagger-ui-bundle.js"]) {
      const response = await fetch(hidden.url + path);
      expect(response.status).toBe(404);
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      expect(error).toMatchObject({ code: "not_found", type: "invalid_request_error" });
      expect(error["message"]).not.toContain("/v1/docs");
    }
    expect((await fetch(`${hidden.url}/v1/health`)).status).toBe(200);
    const lines = hidden.output().split("\n");
    const told = lines.filter((line) => !line.includes('"msg":"request"'));
    expect(told.join("\n")).not.toContain("/v1/docs");
  });

  it("are read only", async () => {
    for (const path of PATHS) {
      const response = await fetch(shown.url + path, { method: "POST", body: "{}" });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("GET");
    }
  });
});
