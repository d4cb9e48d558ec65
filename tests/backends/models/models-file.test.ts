import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadModelsFile } from "../../../src/backends/models/models-file.ts";
import { StartRefusal } from "../../../src/lib/folders/start-refusal.ts";
import { startRefused } from "../../support/servers/start-gateway.ts";

let folder: string;
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "models-file-"));
  path = join(folder, "models.json");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function load(content: unknown) {
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return loadModelsFile(path);
}

async function refusalOf(loading: Promise<unknown>): Promise<string> {
  const thrown = await loading.then(
    () => new Error("it was taken"),
    (error: unknown) => error,
  );
  if (thrown instanceof StartRefusal) return thrown.message;
  throw thrown;
}

describe("MODELS_FILE", () => {
  it("unset says nothing", async () => {
    expect([...(await loadModelsFile(undefined))]).toEqual([]);
  });

  it("says every trait of a model, and of what it leaves out nothing", async () => {
    const all = {
      context_length: 16_384,
      max_output_tokens: 4_096,
      tools: false,
      vision: true,
      documents: false,
      audio: false,
      reasoning: true,
      generation: "older",
      efforts: ["max", "none"],
      sampling: false,
      interface: "responses",
    };
    const overrides = await load({
      all,
      "qwen3:8b": { tools: false },
      vectors: { chat: false },
    });
    expect(overrides.get("vectors")).toEqual({ chat: false });
    expect(overrides.get("all")).toEqual({
      contextLength: 16_384,
      maxOutputTokens: 4_096,
      tools: false,
      vision: true,
      documents: false,
      audio: false,
      thinking: true,
      generation: "older",
      // Weakest first, as the rules read them.
      efforts: ["none", "max"],
      sampling: false,
      api: "responses",
    });
    expect(overrides.get("qwen3:8b")).toEqual({ tools: false });
  });

  it.each([
    [{ "qwen3:8b": { tools: "canary" } }, "qwen3:8b.tools"],
    [{ "qwen3:8b": { toolz: true } }, "qwen3:8b.toolz"],
    [{ m: { context_length: -5 } }, "m.context_length"],
    [{ m: { efforts: ["low", "canary"] } }, "m.efforts[1]"],
    [{ m: { generation: "canary" } }, "m.generation"],
    [{ m: "canary" }, "m"],
    [["canary"], "the file"],
    ["null", "the file"],
  ])("%j stops the start at %s, and tells nothing else of it", async (content, place) => {
    const message = await refusalOf(load(content));
    expect(message).toContain("MODELS_FILE");
    expect(message).toContain(`  ${place}: `);
    expect(message).not.toContain("canary");
  });

  it("that is no JSON or cannot be read stops the start", async () => {
    expect(await refusalOf(load("{ canary"))).toBe(
      "MODELS_FILE: the file it names is not valid JSON.",
    );
    const missing = await refusalOf(loadModelsFile(join(folder, "missing.json")));
    expect(missing).toBe("MODELS_FILE: the file it names cannot be read.");
  });

  it("that is broken ends the server before it opens anything", async () => {
    await writeFile(path, JSON.stringify({ m: { tools: "canary" } }));
    const { code, output } = await startRefused({ DATA_DIR: folder, MODELS_FILE: path });
    expect(code).toBe(1);
    expect(output).toContain("MODELS_FILE is wrong, nothing was started:\n  m.tools: ");
    expect(output).not.toContain("canary");
  });
});
