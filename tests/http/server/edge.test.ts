import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deps } from "../../../src/deps.ts";
import { metricsRoutes } from "../../../src/http/service/metrics.ts";
import { createLog } from "../../../src/lib/log.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { openRawClient, type RawResponse, rawRequest } from "../../support/clients/raw-client.ts";
import { freePort } from "../../support/processes/free-port.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";

const METRICS_TOKEN = "token of the scraper 41c7";
const SCRAPER = { authorization: `Bearer ${METRICS_TOKEN}` };
const ORIGIN = "https://app.example.com";
const FIGURES = "svc_http_requests_total";
const hasNginx = spawnSync("nginx", ["-v"]).error === undefined;
const isBun = process.versions["bun"] !== undefined;

/** Spellings by which a path may get past a proxy's rule for `/metrics`. */
const SPELLINGS = [
  "/metrics",
  "/x/../metrics",
  "/x\\..\\metrics",
  "/x\\../metrics",
  "\\metrics",
  "/x/%2e%2e/metrics",
  "/x/%2e%2e%2fmetrics",
  "/x%5c..%5cmetrics",
  "/.%5cmetrics",
  "//metrics",
  "/./metrics",
  "/%6detrics",
  "/metrics/",
  "/METRICS",
  "/metrics%00",
  "/metrics;x",
  "/v1/models/..%2f..%2fmetrics",
];

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({
    LLM_BASE_URL: "http://127.0.0.1:9",
    ALLOWED_HOSTS: "gw.example.com",
    METRICS_ENABLED: "1",
    METRICS_TOKEN,
    CORS_ORIGINS: ORIGIN,
  });
});
afterAll(() => gateway.stop());

/** Sends the path byte by byte as it stands. */
async function get(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawResponse> {
  const client = await openRawClient(port);
  try {
    client.send(
      rawRequest("GET", path, { host: "gw.example.com", connection: "close", ...headers }),
    );
    return await client.readResponse({ timeoutMs: 20_000 });
  } finally {
    client.close();
  }
}

describe.skipIf(!hasNginx)(
  `Behind nginx${hasNginx ? "" : " (left out: it is not installed)"}`,
  () => {
    let folder: string;
    let proxyPort: number;
    let stopProxy: () => Promise<unknown>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "nginx-"));
      proxyPort = await freePort();
      await writeFile(join(folder, "nginx.conf"), configOf(folder, proxyPort, gateway.port));
      const proxy = spawn(
        "nginx",
        ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")],
        {
          stdio: "ignore",
        },
      );
      const ended = new Promise((resolve) => proxy.once("exit", resolve));
      stopProxy = () => {
        proxy.kill("SIGTERM");
        return ended;
      };
      const until = Date.now() + 30_000;
      const isThere = () =>
        get(proxyPort, "/api/health").then(
          () => true,
          () => false,
        );
      while (!(await isThere()) && Date.now() < until) await sleep(50);
    });
    afterAll(async () => {
      await stopProxy?.();
      await rm(folder, { recursive: true, force: true });
    });

    it.each(SPELLINGS)(
      "no spelling of /metrics shows a figure without the token: %s",
      async (path) => {
        for (const port of [proxyPort, gateway.port]) {
          const response = await get(port, path);
          expect(response.text).not.toContain(FIGURES);
          expect([400, 401, 403, 404]).toContain(response.status);
        }
      },
    );

    it("the token opens it past the proxy's rule only where the runtime hides the raw path", async () => {
      expect((await get(proxyPort, "/metrics", SCRAPER)).status).toBe(403);
      const hidden = await get(proxyPort, "/x\\..\\metrics", SCRAPER);
      expect(hidden.status).toBe(isBun ? 200 : 400);
      expect((await get(gateway.port, "/metrics", SCRAPER)).text).toContain(FIGURES);
    });
  },
);

function configOf(folder: string, port: number, upstream: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(" ");
  return `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
events {}
http {
  access_log off; ${temporary}
  server {
    listen 127.0.0.1:${port};
    location /metrics { return 403; }
    location / { proxy_pass http://127.0.0.1:${upstream}; proxy_set_header Host $host; }
  }
}
`;
}

describe("The edge", () => {
  it("refuses a body in a further coding beside chunked", async () => {
    const headers = { host: "gw.example.com", "transfer-encoding": "gzip, chunked" };
    const refused = await callGateway(gateway.port, { headers, body: "0\r\n\r\n" });
    expect(refused.status).toBe(400);
  });

  it("answers probes by address where it answers to listed names alone", async () => {
    const byAddress = (path: string) => get(gateway.port, path, { host: "10.1.2.3:8080" });
    expect((await byAddress("/api/health")).status).toBe(200);
    expect((await byAddress("/api/ready")).status).not.toBe(400);
    expect((await byAddress("/v1/models")).status).toBe(400);
    expect((await get(gateway.port, "/api/health", { host: "evil.example.com" })).status).toBe(400);
  });

  it("lets pages of the listed origins read its answers, and no others", async () => {
    const preflight = (origin: string) =>
      callGateway(gateway.port, {
        method: "OPTIONS",
        headers: {
          host: "gw.example.com",
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type",
        },
      });
    const allowed = await preflight(ORIGIN);
    expect(allowed.status).toBe(204);
    expect(allowed.header("access-control-allow-origin")).toBe(ORIGIN);
    expect(allowed.header("access-control-allow-headers")).toBe("authorization,content-type");
    expect(allowed.header("access-control-allow-credentials")).toBeUndefined();
    const other = await preflight("https://evil.example.com");
    expect([other.status, other.header("access-control-allow-origin")]).toEqual([405, undefined]);

    const refused = await get(gateway.port, "/v1/models", { origin: ORIGIN });
    expect([refused.status, refused.header("access-control-allow-origin")]).toEqual([401, ORIGIN]);
    expect(refused.header("access-control-expose-headers")).toBe("*");
    expect(refused.header("vary")).toBe("Origin");
  });
});

describe("The start", () => {
  it.each([
    ["0.0.0.0", undefined, true],
    ["::", undefined, true],
    ["0.0.0.0", METRICS_TOKEN, false],
    ["127.0.0.1", undefined, false],
    ["::1", undefined, false],
  ])(
    "warns of figures that anybody can read beyond loopback: HOST=%s, %s",
    (host, token, warns) => {
      const lines: string[] = [];
      const log = createLog("info", { write: (line: string) => void lines.push(line) });
      const settings = { HOST: host, METRICS_ENABLED: true, METRICS_TOKEN: token };
      metricsRoutes({ settings, log } as unknown as Deps);
      expect(lines.some((line) => /"level":"warn".*set METRICS_TOKEN/.test(line))).toBe(warns);
    },
  );
});
