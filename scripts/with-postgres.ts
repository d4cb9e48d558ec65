// Runs a command with TEST_DATABASE_URL naming a PostgreSQL of its own, on loopback in a temporary folder.
// usage: with-postgres.ts COMMAND [ARGUMENT…]
import { spawn } from "node:child_process";
import { startPostgresCluster } from "../tests/support/postgres-cluster.ts";

const [command = "", ...args] = process.argv.slice(2);
const cluster = await startPostgresCluster();
if (cluster === undefined) process.exit(1);

const child = spawn(command, args, {
  stdio: "inherit",
  env: { ...process.env, TEST_DATABASE_URL: cluster.url },
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
const code = await new Promise<number>((resolve) => {
  child.once("error", () => resolve(127));
  child.once("exit", (exitCode) => resolve(exitCode ?? 1));
});
await cluster.remove();
process.exit(code);
