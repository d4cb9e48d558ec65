import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { createLog } from "../../../src/lib/log.ts";
import { watchTime } from "../../../src/lib/time/watch-time.ts";
import { openRedisLink, type RedisLink } from "../../../src/limits/redis/redis-link.ts";
import { freePort } from "../../support/processes/free-port.ts";
import { startRedisServer } from "../../support/servers/redis-server.ts";
import { startGateway } from "../../support/servers/start-gateway.ts";

vi.setConfig({ testTimeout: 120_000 });

const PASSWORD = "canary p@ss/word:%41";
const canMakeCertificates = spawnSync("openssl", ["version"]).status === 0;
const server = await startRedisServer({
  configuration: [`user replica on >${PASSWORD.replaceAll(" ", "_")} ~* &* +@all`],
});
afterAll(() => server?.remove());

/** Resolves after the link has looked at the time, and has done what it then does. */
async function nextLook(): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = watchTime(() => {
      stop();
      resolve();
    });
  });
  await new Promise((resolve) => setImmediate(resolve));
}

describe.runIf(server !== undefined)("the connection to Redis", () => {
  const { port } = server as NonNullable<typeof server>;
  const password = PASSWORD.replaceAll(" ", "_");
  const links: RedisLink[] = [];
  const lines: string[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(line) });
  const open = async (url: string) => {
    lines.length = 0;
    const link = await openRedisLink({ url, log, onUp: () => undefined });
    links.push(link);
    return link;
  };
  afterEach(() => {
    for (const link of links.splice(0)) link.close();
    expect(lines.join("")).not.toContain("canary");
  });

  it("takes user, password and database number from its address", async () => {
    const link = await open(`redis://replica:${encodeURIComponent(password)}@127.0.0.1:${port}/3`);
    expect(link.isUp()).toBe(true);
    expect(await link.run((redis) => redis.acl("WHOAMI"))).toBe("replica");
    await link.run((redis) => redis.set("here", "1"));
    const other = new Redis(port, "127.0.0.1", { db: 3 });
    expect(await other.get("here")).toBe("1");
    await other.select(0);
    expect(await other.get("here")).toBeNull();
    other.disconnect();
    expect(lines).toEqual([]);
  });

  it("says once that a password is wrong, and not which", async () => {
    const link = await open(`redis://replica:canary-wrong@127.0.0.1:${port}`);
    expect(link.isUp()).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("WRONGPASS");
    await expect(link.run((redis) => redis.ping())).rejects.toMatchObject({
      code: "storage_unavailable",
      retryAfterSeconds: 1,
    });
  });

  it("opens where nothing listens, and says so once", async () => {
    const link = await open(`redis://:canary@127.0.0.1:${await freePort()}`);
    expect(link.isUp()).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("ECONNREFUSED");
  });

  it("takes slow answers for a burst, and none at all for a server that hangs", async () => {
    const link = await open(`redis://127.0.0.1:${port}`);
    let now = performance.now();
    const time = vi.spyOn(performance, "now").mockImplementation(() => now);
    try {
      const answers: (() => void)[] = [];
      const ask = () => link.run(() => new Promise<void>((resolve) => void answers.push(resolve)));
      const asked = [ask(), ask(), ask()];
      // Each answer shows that the server goes on, although the last caller waits for longer than one may without any.
      for (const [index, call] of asked.entries()) {
        now += 400;
        await nextLook();
        answers[index]?.();
        await call;
      }
      const unanswered = [ask(), ask()].map((call) => call.catch((error: unknown) => error));
      now += 500;
      for (const error of await Promise.all(unanswered))
        expect(error).toMatchObject({ code: "storage_unavailable", retryAfterSeconds: 1 });
    } finally {
      time.mockRestore();
    }
  });

  it.runIf(canMakeCertificates)(
    "speaks TLS to an address of rediss, and checks who answers",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "redis-tls-"));
      const [keyFile, certificateFile] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
      const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
      const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
      const files = ["-nodes", "-days", "2", "-keyout", keyFile, "-out", certificateFile];
      execFileSync("openssl", [...request, ...files, ...subject], { stdio: "ignore" });
      const secured = await startRedisServer({ tls: { keyFile, certificateFile }, password });
      try {
        const url = `rediss://:${encodeURIComponent(password)}@127.0.0.1:${secured?.port}`;
        const link = await open(url);
        expect(link.isUp()).toBe(false);
        expect(lines.join("")).toMatch(/certificate/i);

        const settings = {
          LLM_BACKEND: "vllm",
          LLM_BASE_URL: "http://127.0.0.1:9",
          REDIS_URL: url,
        };
        const trusting = { ...settings, NODE_EXTRA_CA_CERTS: certificateFile };
        const gateway = await startGateway(trusting);
        const ready = await fetch(`${gateway.url}/api/ready`);
        expect(await ready.json()).not.toHaveProperty("limits");
        await gateway.stop();
        const wary = await startGateway(settings);
        expect(await (await fetch(`${wary.url}/api/ready`)).json()).toMatchObject({
          limits: "unavailable",
        });
        await wary.stop();
        for (const { output } of [gateway, wary]) expect(output()).not.toContain("canary");
        expect(wary.output()).toContain("Redis at REDIS_URL is unreachable");
      } finally {
        await secured?.remove();
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
