import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";

const PROGRAM = `
  import { onStop } from "./scripts/task/on-stop.mjs";
  onStop(() => process.stdout.write("stop "));
  setInterval(() => undefined, 1_000);
  process.stdout.write("ready ");
`;
const FLAGS = "Bun" in globalThis ? [] : ["--input-type=module"];

it("takes signals in quick succession for one, and is told again by whoever goes on sending them", async () => {
  const child = spawn(process.execPath, [...FLAGS, "--eval", PROGRAM], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const stops = () => output.split("stop").length - 1;
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
