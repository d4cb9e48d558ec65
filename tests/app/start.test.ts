import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { freePort } from "../support/processes/free-port.ts";
import { startGateway, startRefused } from "../support/servers/start-gateway.ts";
import { startSimulator } from "../support/servers/start-simulator.ts";

/** Longer than any start takes, also beside much else. */
const SOON = { timeout: 120_000, interval: 50 };

describe("a start", () => {
  it("that cannot have its port makes no database and shows no secret", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const folder = await mkdtemp(join(tmpdir(), "start-"));
    const port = String((other.address() as AddressInfo).port);
    const { code, output } = await startRefused({
      HOST: "127.0.0.1",
      PORT: port,
      DATA_DIR: folder,
      LLM_BASE_URLS: "http://127.0.0.1:1",
    });
    const made = await readdir(folder);
    await new Promise((resolve) => other.close(resolve));
    await rm(folder, { recursive: true, force: true });
    expect(code).toBe(1);
    expect(output).toContain(`cannot listen on port ${port}`);
    expect(output).toContain("LLM_BASE_URLS is set but is not a setting");
    expect(output).not.toContain("shown once");
    expect(made).toEqual([]);
  });

  it("says where it listens and what it asks, is ready once the engine is, and says when it has stopped", async () => {
    const port = await freePort();
    const engine = `http://127.0.0.1:${port}`;
    const gateway = await startGateway({ LLM_BACKEND: "vllm", LLM_BASE_URL: engine });
    const linesOf = (message: string) =>
      gateway
        .output()
        .split("\n")
        .filter((line) => line.includes(`"msg":"${message}`))
        .map((line) => JSON.parse(line));
    expect(linesOf("listening")).toEqual([
      expect.objectContaining({
        url: gateway.url,
        address: `127.0.0.1:${gateway.port}`,
        tls: expect.stringContaining("none"),
        engine: [engine],
      }),
    ]);
    await expect.poll(() => linesOf("not ready yet"), SOON).toHaveLength(1);
    expect(linesOf("not ready yet")[0]).toMatchObject({ failed: ["llm"] });
    expect(linesOf("ready")).toEqual([]);
    const simulator = await startSimulator({ engine: "vllm", port });
    await expect.poll(() => linesOf("ready"), SOON).toHaveLength(1);
    expect((await fetch(`${gateway.url}/api/ready`)).status).toBe(200);
    await gateway.stop();
    await simulator.stop();
    expect(gateway.output().trimEnd().split("\n").at(-1)).toContain('"msg":"stopped"');
  }, 180_000);
});

describe("a start with wrong settings", () => {
  it("is refused with all wrong names at once and none of their values", async () => {
    const wrong = {
      PORT: "eighty",
      LLM_BACKEND: "tgi",
      LLM_BASE_URL: "ftp://hunter2@engine",
      DATABASE_URL: "mysql://user:hunter2@db/x",
      BOOTSTRAP_API_KEY: "hunter2",
      GATEWAY_DOCS_ENABLED: "perhaps",
      GATEWAY_RETRIES: "-1",
      STREAM_IDLE_TIMEOUT_MS: "1.5",
      LOG_LEVEL: "loud",
    };
    const { code, output } = await startRefused(wrong);
    expect(code).toBe(1);
    for (const name of Object.keys(wrong))
      expect(output).toMatch(new RegExp(`^ +${name}: .+`, "m"));
    expect(output).toContain("nothing was started");
    expect(output).not.toMatch(/hunter2|eighty|loud|perhaps/);
    // A text for the operator and no trace of the program.
    expect(output).not.toMatch(/\n\s+at |node_modules|ZodError/);
  });

  it.each([
    ["DATA_DIR", "below a file"],
    ["JOURNAL_DIR", "below a file"],
    ["JOURNAL_DIR", "behind a link that leads nowhere"],
  ])("is refused when %s lies %s", async (name, place) => {
    const folder = await mkdtemp(join(tmpdir(), "start-"));
    const at = join(folder, "at");
    if (place === "below a file") await writeFile(at, "");
    else await symlink("nowhere", at);
    const folders = { DATA_DIR: join(folder, "data"), [name]: join(at, "below") };
    const { code, output } = await startRefused(folders);
    await rm(folder, { recursive: true, force: true });
    expect(code).toBe(1);
    expect(output).toMatch(new RegExp(`^${name}: the folder cannot be used .*`, "m"));
    expect(output).not.toMatch(/\n\s+at |node_modules/);
  });
});
