import { spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// Answers to one name alone, as the gateway does under ALLOWED_HOSTS.
const NAME = "gateway.example.org";
let server: Server;

beforeAll(async () => {
  server = createServer(({ url, headers }, response) => {
    response.statusCode = headers.host === NAME && url === "/api/health" ? 200 : 400;
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => void server.close());

function exitCode(settings: Record<string, string>): Promise<number | null> {
  const { port } = server.address() as AddressInfo;
  const env = { PATH: "/usr/bin:/bin", PORT: String(port), ...settings };
  const child = spawn(process.execPath, ["scripts/check-health.mjs"], { env, stdio: "inherit" });
  return new Promise((resolve) => child.once("exit", resolve));
}

describe("The container's health check", () => {
  it("calls the server by a name that it answers to", async () => {
    expect(await exitCode({ ALLOWED_HOSTS: `${NAME}, other.example.org` })).toBe(0);
  });

  it("calls the address that the server listens on", async () => {
    const settings = { ALLOWED_HOSTS: NAME, HOST: "127.0.0.1" };
    expect(await exitCode(settings)).toBe(0);
    expect(await exitCode({ ...settings, HOST: "0.0.0.0" })).toBe(0);
    expect(await exitCode({ ...settings, HOST: "127.0.0.2" })).toBe(1);
  });

  it("fails on a refusal, and where nobody listens", async () => {
    expect(await exitCode({})).toBe(1);
    expect(await exitCode({ PORT: "1" })).toBe(1);
  });
});
