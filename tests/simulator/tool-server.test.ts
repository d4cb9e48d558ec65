import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";

it("the scripted tool server runs by hand: it prints where it listens, obeys lines and ends with 0", async () => {
  const runtime = process.versions["bun"] ? [] : ["--import", "tsx"];
  const program = "simulator/tool-server/main.ts";
  const options = ["--mode", "json", "--tools", "echo,changing"];
  const child = spawn(process.execPath, [...runtime, program, ...options]);
  let output = "";
  child.stdout.on("data", (text) => (output += text));
  await expect.poll(() => output).toMatch(/^listening 127\.0\.0\.1:\d+\n$/);
  const url = `http://${output.trim().split(" ")[1]}/mcp`;
  const list = async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    return (await fetch(url, { method: "POST", body })).text();
  };
  expect(await list()).toContain('"Version 1."');
  child.stdin.write("change\nfail 503\nrequests\n");
  await expect.poll(() => output).toContain('"method": "tools/list"');
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(503);
  child.stdin.write("fail\nrequests\n");
  await expect.poll(list).toContain('"Version 2."');
  child.kill("SIGTERM");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});
