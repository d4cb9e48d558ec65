import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chatErrorForm } from "../../src/http/answers/error-response.ts";
import { consoleRoutes } from "../../src/http/console.ts";
import type { RequestEnvironment } from "../../src/http/request/routes/route.ts";
import { createRouteTable } from "../../src/http/request/routes/route-table.ts";
import { startGateway, type TestGateway } from "../support/servers/start-gateway.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
  "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";
const SCRIPT = `/assets/main-1a2b3c4d.js`;
const CODE = "console.log(1);\n".repeat(200);

let folder: string;
let now: number;
const told: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "console-"));
  now = 0;
  told.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Writes a build as the build script does, and makes it the current one. */
async function writeBuild(title: string, extra: Readonly<Record<string, string>> = {}) {
  const files = { "index.html": `<title>${title}</title>`, [SCRIPT.slice(1)]: CODE, ...extra };
  const id = createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16);
  const listed = [];
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, id, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
    await writeFile(`${path}.br`, brotliCompressSync(text));
    await writeFile(`${path}.gz`, gzipSync(text));
    listed.push({ name, encodings: name.endsWith(".woff2") ? [] : ["br", "gz"] });
  }
  await writeManifest(JSON.stringify({ id, stamp: "", watched: false, files: listed }));
  return id;
}

async function writeManifest(text: string) {
  await writeFile(join(folder, "draft"), text);
  await rename(join(folder, "draft"), join(folder, "build.json"));
}

/** Serves the routes alone, without a gateway around them. */
function serveConsole() {
  const log = {
    info: (_: unknown, text: string) => void told.push(text),
    warn: (_: unknown, text: string) => void told.push(text),
    error: () => {},
  };
  const deps = { authenticate: () => null, clock: { now: () => now }, log };
  const { routes } = consoleRoutes(deps as unknown as Parameters<typeof consoleRoutes>[0], {
    folder,
    now: () => now,
  });
  const { hono } = createRouteTable(routes);
  return async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const environment = {
      path,
      line: {},
      address: () => null,
      log,
      requestId: "req_1",
      errorForm: chatErrorForm,
    } as unknown as RequestEnvironment["Bindings"];
    return hono.fetch(new Request(`http://gateway${path}`, { method, headers }), environment);
  };
}

describe("/console", () => {
  it("is a page that loads itself again until there is a build, and then the build", async () => {
    const ask = serveConsole();
    const waiting = await ask("/console/keys");
    expect([waiting.status, waiting.headers.get("cache-control")]).toEqual([503, "no-store"]);
    expect(waiting.headers.get("content-security-policy")).toBe(POLICY);
    expect(await waiting.text()).toContain('<meta http-equiv="refresh" content="1">');

    await writeBuild("first");
    now += 1_000;
    const page = await ask("/console/keys");
    expect([page.status, await page.text()]).toEqual([200, "<title>first</title>"]);
  });

  it("is the same page for every link into it", async () => {
    await writeBuild("one page");
    const ask = serveConsole();
    for (const path of ["", "/", "/chat/ch_1", "/models/meta%2Fllama-3.1", "/index.html"]) {
      const page = await ask(`/console${path}`);
      expect([path, page.status, await page.text()]).toEqual([
        path,
        200,
        "<title>one page</title>",
      ]);
      expect(page.headers.get("cache-control")).toBe("no-cache");
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    }
  });

  it("sends the policy and its companions with every file", async () => {
    await writeBuild("page", { "assets/inter-1.woff2": "font", "licenses.json": "[]" });
    const ask = serveConsole();
    const paths = ["", SCRIPT, "/assets/inter-1.woff2", "/licenses.json", "/build.json"];
    for (const path of paths) {
      const { status, headers } = await ask(`/console${path}`);
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get("content-security-policy")).toBe(POLICY);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("permissions-policy")).toBe("microphone=(self)");
    }
  });

  it.each([
    ["br, gzip", "br"],
    ["gzip, deflate, br;q=0.5", "br"],
    ["gzip;q=1.0, br;q=0", "gzip"],
    ["*", "br"],
    ["*;q=0", null],
    ["identity", null],
    ["", null],
  ])("chooses among its codings by Accept-Encoding: %j gets %j", async (accepted, coding) => {
    await writeBuild("page");
    const answer = await serveConsole()(`/console${SCRIPT}`, { "accept-encoding": accepted });
    expect(answer.headers.get("content-encoding")).toBe(coding);
    expect(answer.headers.get("vary")).toBe("accept-encoding");
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get("content-length")).toBe(String(bytes.length));
    const unpack = new Map([
      ["br", brotliDecompressSync],
      ["gzip", gunzipSync],
    ]).get(coding ?? "");
    const plain = unpack?.(bytes) ?? bytes;
    expect(plain.toString()).toBe(CODE);
  });

  it("lets hashed names be kept for ever, and answers 304 to who has the file in this coding", async () => {
    await writeBuild("page");
    const ask = serveConsole();
    const first = await ask(`/console${SCRIPT}`, { "accept-encoding": "br" });
    expect(first.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]+"$/);
    const headers = { "accept-encoding": "br", "if-none-match": `"other", W/${etag}` };
    const again = await ask(`/console${SCRIPT}`, headers);
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(again.headers.get("etag")).toBe(etag);
    const plain = await ask(`/console${SCRIPT}`, { "if-none-match": etag });
    expect([plain.status, plain.headers.get("content-encoding")]).toEqual([200, null]);
  });

  it("answers 404 for an asset that it has not, whatever lies in the folder", async () => {
    const id = await writeBuild("page");
    await writeFile(join(folder, id, "assets/secret.js"), "1");
    const ask = serveConsole();
    for (const path of ["/assets/gone-1.js", "/assets/secret.js", `${SCRIPT}.br`]) {
      const answer = await ask(`/console${path}`);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.headers.get("content-security-policy")).toBe(POLICY);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("takes up a new build when it is whole, and keeps the old one when it is not", async () => {
    const first = await writeBuild("first");
    const ask = serveConsole();
    const shown = async () => (await (await ask("/console")).text()).replaceAll(/<.?title>/g, "");
    expect(await shown()).toBe("first");
    const polled = await ask("/console/build.json");
    expect(await polled.json()).toEqual({ id: first, watched: false });

    await writeBuild("second");
    expect(await shown()).toBe("first");
    now += 1_000;
    expect(await shown()).toBe("second");

    const broken = { id: "abc", watched: true, files: [{ name: "index.html", encodings: [] }] };
    for (const text of [JSON.stringify(broken), "{", '{"id":"../.."}']) {
      await writeManifest(text);
      now += 1_000;
      expect(await shown()).toBe("second");
    }
    expect(told.filter((text) => text.includes("cannot be read"))).toHaveLength(3);
    await rm(join(folder, "build.json"));
    now += 1_000;
    expect(await shown()).toBe("second");
  });
});

describe("the console of a gateway", () => {
  let gateway: TestGateway;
  const start = async (environment: Record<string, string>) => {
    gateway = await startGateway({
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: "http://127.0.0.1:9",
      ...environment,
    });
    return gateway.url;
  };
  afterEach(() => gateway?.stop());

  it("is open to everybody, answers HEAD, and takes browsers that begin at /", async () => {
    const url = await start({});
    const headers = { accept: "text/html,*/*;q=0.8" };
    const sent = await fetch(url, { headers, redirect: "manual" });
    expect([sent.status, sent.headers.get("location")]).toEqual([302, "/console/"]);
    expect((await fetch(url)).status).toBe(404);
    const page = await fetch(`${url}/console/models/a%2Fb`);
    // 503 where nothing has built the console yet.
    expect([200, 503]).toContain(page.status);
    expect(page.headers.get("content-security-policy")).toBe(POLICY);
    expect(page.headers.get("x-request-id")).toMatch(/^req_/);
    const head = await fetch(`${url}/console/models/a%2Fb`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([page.status, ""]);
    expect((await fetch(`${url}/console`, { method: "POST" })).status).toBe(405);
  });

  it("is nowhere with CONSOLE_ENABLED=0", async () => {
    const url = await start({ CONSOLE_ENABLED: "0" });
    for (const path of ["/console", "/console/", "/console/keys", "/console/build.json"]) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
    }
    const sent = await fetch(url, { headers: { accept: "text/html" }, redirect: "manual" });
    expect(sent.headers.get("location")).toBe("/v1/docs");
  });
});
