import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FromProcess, ProcessConfig } from "../../../src/data/process/process-messages.ts";
import { spawnProgram } from "../../../src/lib/worker/spawn-program.ts";
import { principal } from "./connections/port-stage.ts";

const PROGRAM = fileURLToPath(new URL("../../../src/data/port/program.ts", import.meta.url));

describe("the data process", () => {
  let folder: string;
  let config: ProcessConfig;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "data-process-"));
    const socketPath = join(folder, "socket");
    config = { socketPath, port: null, mostSessions: null, mostRunning: null, copy: null };
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Starts the process with these lines as its input. Returns what it wrote and its exit code. */
  async function run(lines: readonly string[]) {
    const child = spawnProgram(PROGRAM, { heapBytes: 256 * 1024 * 1024 });
    let output = "";
    child.stdout.on("data", (bytes: Buffer) => {
      output += bytes.toString();
      if (output.includes('"open"')) child.stdin.end();
    });
    child.stdin.on("error", () => undefined);
    child.stdin.write([JSON.stringify(config), ...lines, ""].join("\n"));
    const [code] = await once(child, "close");
    const messages = output.trim().split("\n");
    return { code, messages: messages.map((line) => JSON.parse(line) as FromProcess) };
  }

  it("takes names with any character", async () => {
    const reader = principal("bik_reader", { name: "report\u2028monthly\u2029" });
    const admission = { principal: reader, login: null };
    const { code, messages } = await run([JSON.stringify({ type: "admission", id: 1, admission })]);
    expect({ code, messages }).toEqual({
      code: 0,
      messages: [{ type: "open", port: null, failure: null }],
    });
  });

  it("leaves out a line that is no JSON, and says so", async () => {
    const { code, messages } = await run(['{"type":']);
    expect(code).toBe(0);
    expect(messages).toContainEqual({
      ...{ type: "log", level: "error", fields: { characters: 8 } },
      text: "a line from the server is no JSON, and was left out",
    });
  });
});
