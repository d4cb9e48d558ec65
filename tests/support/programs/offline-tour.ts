// Runs a server with its default settings where there is no network but loopback, uses it as a user would, and prints
// what it answered, and what the kernel counted of packets for elsewhere, as one line of JSON. It is to be started in
// a network namespace of its own whose loopback is up.
import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { callGateway, chatBody } from "../clients/call-gateway.ts";
import { packetsForElsewhere } from "../packets-for-elsewhere.ts";
import { startGateway } from "../servers/start-gateway.ts";
import { startSimulator } from "../servers/start-simulator.ts";

/** Where a local engine listens unless it is told otherwise. */
const ENGINE_PORT = 11_434;
/** Time for whatever a start looks at in the background. */
const SETTLE_MS = 5_000;
const PASSWORD = "password of the tour 7d20";

const before = packetsForElsewhere();
const simulator = await startSimulator({ port: ENGINE_PORT });
const gateway = await startGateway({
  HOST: "0.0.0.0",
  PORT: "8080",
  ADMIN_PASSWORD: PASSWORD,
  DATABASE_URL: "",
});
const get = (path: string) => callGateway(gateway.port, { method: "GET", path });

const chat = await callGateway(gateway.port, { body: chatBody("sim-chat") });
const stream = await callGateway(gateway.port, { body: chatBody("sim-chat", { stream: true }) });
const page = await get("/v1/docs");
// What stands in the page itself (`data:`) comes from nowhere.
const parts = [...page.text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(
  ([, path = ""]) => path,
);
const partStatuses = await Promise.all(
  parts.map(async (path) => (path.startsWith("/") ? (await get(path)).status : path)),
);
const health = await get("/api/health");
const ready = await get("/api/ready");
const publicHealth = await get("/v1/health");
const credentials = { username: "admin", password: PASSWORD };
const headers = { authorization: undefined };
const login = await callGateway(gateway.port, {
  path: "/api/auth/login",
  headers,
  body: credentials,
});
const { token } = login.json() as { token: string };
const license = await callGateway(gateway.port, {
  method: "GET",
  path: "/api/license",
  headers: { authorization: `Bearer ${token}` },
});
await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
gateway.kill("SIGTERM");
const exitCode = await gateway.exited;
await gateway.stop();
await simulator.stop();
const packets = difference(packetsForElsewhere(), before);

// Both must be seen, else the count above says nothing.
await new Promise<void>((resolve) => {
  connect({ host: "192.0.2.1", port: 80 }).once("error", () => resolve());
});
const afterConnect = packetsForElsewhere();
await lookup("gateway.example").catch(() => undefined);
const afterLookup = packetsForElsewhere();

process.stdout.write(
  `${JSON.stringify({
    chat: chat.status,
    stream: [stream.status, stream.text.trimEnd().endsWith("data: [DONE]")],
    docs: [page.status, parts.length > 0, ...new Set(partStatuses)],
    health: [health.status, ready.status, publicHealth.status],
    login: login.status,
    license: license.status,
    exitCode,
    packets,
    control: {
      connect: difference(afterConnect, before) > 0,
      lookup: difference(afterLookup, afterConnect) > 0,
    },
    errors: gateway
      .output()
      .split("\n")
      .filter((line) => /"level":"(?:error|fatal)"/.test(line)),
  })}\n`,
);
process.exit(0);

function difference(later: number, earlier: number): number {
  return later - earlier;
}
