import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

const program = "simulator/main.ts";

function run(...options: string[]) {
  const runtime = process.versions["bun"] ? [] : ["--import", "tsx"];
  const child = spawn(process.execPath, [...runtime, program, ...options]);
  let output = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (output += text));
  const exited = once(child, "exit").then(([code]) => code as number | null);
  return { child, exited, output: () => output };
}

async function address(output: () => string): Promise<string> {
  await expect.poll(output, { timeout: 20_000 }).toMatch(/^listening 127\.0\.0\.1:\d+\n$/);
  return `http://${output().trim().split(" ")[1]}`;
}

it("the program prints where it listens, serves both engines, and stops on SIGTERM with 0", async () => {
  const { child, exited, output } = run("--port", "0", "--tokens-per-second", "0");
  const url = await address(output);
  expect((await fetch(`${url}/v1/models`)).status).toBe(200);
  expect((await fetch(`${url}/api/tags`)).status).toBe(200);
  child.kill("SIGTERM");
  expect(await exited).toBe(0);
});

it("the program serves one engine with the models of a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "simulator-"));
  const file = join(folder, "models.json");
  await writeFile(file, '[{"name":"own","contextLength":512,"capabilities":["completion"]}]');
  const { child, exited, output } = run("--engine", "ollama", "--models", file);
  const url = await address(output);
  const { models } = (await (await fetch(`${url}/api/tags`)).json()) as { models: object[] };
  expect(models).toMatchObject([{ name: "own:latest" }]);
  expect((await fetch(`${url}/v1/models`)).status).toBe(404);
  child.kill("SIGINT");
  expect(await exited).toBe(0);
  await rm(folder, { recursive: true });
});

it("the program serves a cloud with its own models, by its key alone", async () => {
  const { child, exited, output } = run("--engine", "anthropic", "--api-key", "real");
  const url = await address(output);
  const ask = async (key: string) => {
    const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" };
    return (await fetch(`${url}/v1/models`, { headers })).text();
  };
  expect(await ask("real")).toContain("claude-sonnet-4-5");
  expect(await ask("other")).toContain("invalid x-api-key");
  child.kill("SIGTERM");
  expect(await exited).toBe(0);
});

it.each([
  [["--engine", "other"], "--engine: other is unknown"],
  [["--latency", "soon"], "--latency: soon is not a number"],
  [["--colour", "red"], "--colour"],
])("the program refuses %s with its usage and exit code 2", async (options, reason) => {
  const { exited, output } = run(...options);
  expect(await exited).toBe(2);
  expect(output()).toContain(reason);
  expect(output()).toContain("usage: main.ts");
});
