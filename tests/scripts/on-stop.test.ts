import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { expect, it } from "vitest";

const PROGRAM = `
  import { onStop } from "./scripts/task/on-stop.mjs";
  onStop((signal) => process.stdout.write("stop " + signal + " "));
  setInterval(() => undefined, 1_000);
  process.stdout.write("ready ");
`;
const isBun = "Bun" in globalThis;
const FLAGS = isBun ? [] : ["--input-type=module"];
const ARGUMENTS = [...FLAGS, "--eval", PROGRAM];
const STDIO = ["ignore", "pipe", "inherit"] as const;

/** Returns what a child has said so far. */
function listenTo(child: { readonly stdout: Readable }): () => string {
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  return () => output;
}

it("takes signals in quick succession for one, and is told again by whoever goes on sending them", async () => {
  const child = spawn(process.execPath, ARGUMENTS, { stdio: [...STDIO] });
  const output = listenTo(child);
  const stops = () => output().split("stop").length - 1;
  await once(child.stdout, "data");
  let sent = 0;
  // Each sooner after the one before than two requests may be.
  const timer = setInterval(() => {
    sent += 1;
    child.kill("SIGTERM");
  }, 100);
  try {
    await expect.poll(stops, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
    expect(stops()).toBeLessThan(sent / 2);
  } finally {
    clearInterval(timer);
    child.kill("SIGKILL");
  }
});

it("hands a terminal that hangs up on as a signal that every program knows", async () => {
  const child = spawn(process.execPath, ARGUMENTS, { stdio: [...STDIO] });
  const output = listenTo(child);
  try {
    await expect.poll(output, { timeout: 20_000 }).toContain("ready");
    child.kill("SIGHUP");
    await expect.poll(output, { timeout: 20_000 }).toBe("ready stop SIGTERM ");
  } finally {
    child.kill("SIGKILL");
  }
});

// Node makes the handling of every signal the default before it runs a program.
it.runIf(isBun)("leaves a hang-up ignored where its starter has ignored it", async () => {
  const command = `trap '' HUP; exec "$0" "$@"`;
  const child = spawn("sh", ["-c", command, process.execPath, ...ARGUMENTS], {
    stdio: [...STDIO],
  });
  const output = listenTo(child);
  try {
    await expect.poll(output, { timeout: 20_000 }).toContain("ready");
    child.kill("SIGHUP");
    child.kill("SIGTERM");
    await expect.poll(output, { timeout: 20_000 }).toBe("ready stop SIGTERM ");
    const status = await readFile(`/proc/${child.pid}/status`, "utf8");
    expect(status).toMatch(/^SigIgn:.*[13579bdf]$/m);
  } finally {
    child.kill("SIGKILL");
  }
});
