import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startRefused } from "../support/start-gateway.ts";

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
