import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";

const PROGRAM = `
  import { onStop } from "./scripts/task/on-stop.mjs";
  onStop(() => process.stdout.write("stop "));
  setInterval(() => undefined, 1_000);
  process.stdout.write("ready ");
`;

it("takes signals in quick succession for one, and is told again by whoever goes on sending them", async () => {
  const child = spawn("node", ["--input-type=module", "--eval", PROGRAM], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  await sleep(50);
  child.kill("SIGTERM");
  await sleep(200);
  const first = output;
  for (let tries = 0; tries < 10; tries += 1) {
    child.kill("SIGTERM");
    await sleep(200);
  }
  child.kill("SIGKILL");
  expect(first).toBe("ready stop ");
  expect(output.split("stop").length).toBeGreaterThan(3);
});
