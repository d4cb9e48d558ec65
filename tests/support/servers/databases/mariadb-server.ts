import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createConnection } from "mysql2/promise";
import { freePort } from "../../processes/free-port.ts";

const run = promisify(execFile);
const START_TIMEOUT_MS = 90_000;
const PROGRAM = "/usr/sbin/mariadbd";
const INSTALL = "/usr/bin/mariadb-install-db";

const MARIADB_ROOT_PASSWORD = "the root of the test's MariaDB";

export interface MariadbServerOptions {
  /** Paths of a key and a certificate, in a folder that everybody may read: it then speaks TLS as well. */
  readonly tls?: { readonly keyFile: string; readonly certificateFile: string };
}

/** A MariaDB server of our own on a free port of the loopback. */
export interface MariadbServer {
  readonly port: number;
  /** Runs statements as root. */
  readonly execute: (...statements: readonly string[]) => Promise<unknown>;
  /** Ends it and removes its folder. */
  readonly remove: () => Promise<void>;
}

/** Starts one; undefined, with a line that says so, where MariaDB is not installed. */
export async function startMariadbServer({
  tls,
}: MariadbServerOptions = {}): Promise<MariadbServer | undefined> {
  if (!existsSync(PROGRAM) || !existsSync(INSTALL)) {
    // biome-ignore lint/suspicious/noConsole: says which tests are left out
    console.info("MariaDB is not installed: the cases that need one are left out.");
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "mariadb-"));
  const data = join(folder, "data");
  const port = await freePort();
  // The server refuses to run as root.
  const isRoot = userInfo().uid === 0;
  const asUser = isRoot ? ["--user=nobody"] : [];
  if (isRoot) await run("chown", ["nobody", folder]);
  const common = ["--no-defaults", `--datadir=${data}`, ...asUser];
  await run(INSTALL, [...common, "--auth-root-authentication-method=normal", "--skip-test-db"]);
  const child = await started(
    spawn(PROGRAM, [...common, ...serverOptions(folder, port, tls)], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    }),
  );
  const setPassword = `alter user root@'127.0.0.1' identified by '${MARIADB_ROOT_PASSWORD.replaceAll("'", "''")}'`;
  await execute(port, "", [setPassword]);
  return {
    port,
    execute: (...statements) => execute(port, MARIADB_ROOT_PASSWORD, statements),
    async remove() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function serverOptions(folder: string, port: number, tls: MariadbServerOptions["tls"]): string[] {
  return [
    "--bind-address=127.0.0.1",
    `--port=${port}`,
    `--socket=${join(folder, "socket")}`,
    `--pid-file=${join(folder, "pid")}`,
    "--skip-name-resolve",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=16M",
    "--max-allowed-packet=1G",
    "--local-infile=1",
    ...(tls === undefined ? [] : [`--ssl-key=${tls.keyFile}`, `--ssl-cert=${tls.certificateFile}`]),
  ];
}

async function execute(
  port: number,
  password: string,
  statements: readonly string[],
): Promise<unknown> {
  const connection = await createConnection({ host: "127.0.0.1", port, user: "root", password });
  try {
    let rows: unknown;
    for (const statement of statements) [rows] = await connection.query(statement);
    return rows;
  } finally {
    await connection.end();
  }
}

function started(child: ChildProcess): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    let output = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
    child.stderr?.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
      if (!/ready for connections/i.test(output)) return;
      clearTimeout(timer);
      resolve(child);
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`MariaDB did not start:\n${output}`)));
  });
}
