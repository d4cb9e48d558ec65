import { execFile } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../processes/free-port.ts";

const run = promisify(execFile);

/** A PostgreSQL server of our own on a free port of the loopback. */
export interface PostgresCluster {
  /** Address of its database `postgres`, as superuser. */
  readonly url: string;
  readonly start: () => Promise<void>;
  /** `immediate` is the crash: connections are cut and nothing is tidied up. */
  readonly stop: (mode?: "fast" | "immediate") => Promise<void>;
  /** Stops it and removes its files. */
  readonly remove: () => Promise<void>;
  /** The small disk: where the server finds it, and where others do while the server runs. */
  readonly smallDisk: () => { readonly path: string; readonly seenFromOutside: string };
}

export interface PostgresClusterOptions {
  /** Gives the server alone an empty disk of this size, beside its own files; gone when it stops. Needs root. */
  readonly smallDiskMb?: number;
  /** Forces what is committed to the disk, as an operator's server does: for measurements. */
  readonly isDurable?: boolean;
  /** 300 unless given. */
  readonly maxConnections?: number;
  /** Room for locks: for each connection, and 22 processes of the server, as many. 64 unless given. */
  readonly maxLocks?: number;
  /** It then speaks TLS as well. */
  readonly tls?: { readonly keyFile: string; readonly certificateFile: string };
}

/** Folder of the server's programs, the newest installed; undefined where there is none. */
function findPostgresPrograms(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const versions = readdirSync(root).sort((one, other) => Number(other) - Number(one));
  return versions.map((version) => join(root, version, "bin")).find((path) => existsSync(path));
}

/** Makes and starts a cluster; undefined, with a line that says so, where PostgreSQL is not installed. */
export async function startPostgresCluster({
  smallDiskMb,
  isDurable = false,
  maxConnections = 300,
  maxLocks = 64,
  tls,
}: PostgresClusterOptions = {}): Promise<PostgresCluster | undefined> {
  const programs = findPostgresPrograms();
  if (programs === undefined) {
    // biome-ignore lint/suspicious/noConsole: says which tests are left out
    console.info("PostgreSQL is not installed: the cases that need a real one are left out.");
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "postgres-"));
  const port = await freePort();
  const data = join(folder, "data");
  const disk = join(folder, "disk");
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const program = (name: string, ...given: string[]) =>
    runUnprivileged([join(programs, name), ...given], folder);
  const cluster: PostgresCluster = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async start() {
      // What is written survives a kill of the server all the same; only a power cut would lose it.
      const cheap = `-c fsync=${isDurable ? "on" : "off"} -c max_connections=${maxConnections} -c max_locks_per_transaction=${maxLocks}`;
      const secured =
        tls === undefined
          ? ""
          : ` -c ssl=on -c ssl_key_file=${key} -c ssl_cert_file=${certificate}`;
      const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} ${cheap}${secured}`;
      const ownDisk = smallDiskMb === undefined ? [] : withDisk(disk, smallDiskMb);
      const start = ["-D", data, "-w", "-l", join(folder, "log"), "-o", options, "start"];
      await runUnprivileged([join(programs, "pg_ctl"), ...start], folder, ownDisk);
    },
    async stop(mode = "fast") {
      await program("pg_ctl", "-D", data, "-w", "-m", mode, "stop");
    },
    async remove() {
      await cluster.stop("immediate").catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
    smallDisk() {
      const [pid = ""] = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
      return { path: disk, seenFromOutside: `/proc/${pid}/root${disk}` };
    },
  };
  if (tls !== undefined) {
    copyFileSync(tls.keyFile, key);
    copyFileSync(tls.certificateFile, certificate);
    // The server refuses a key that others can read.
    chmodSync(key, 0o600);
  }
  if (isRoot()) await run("chown", ["-R", "postgres", folder]);
  chmodSync(folder, 0o700);
  if (smallDiskMb !== undefined) mkdirSync(disk);
  await program("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync");
  await cluster.start();
  return cluster;
}

/** The server refuses to run as root. */
async function runUnprivileged(
  command: readonly string[],
  cwd: string,
  through: readonly string[] = [],
): Promise<void> {
  const quoted = command.map((word) => `'${word}'`).join(" ");
  const unprivileged = isRoot() ? ["su", "postgres", "-c", quoted] : command;
  const [program = "", ...given] = [...through, ...unprivileged];
  await run(program, given, { cwd });
}

/** The command that runs another where a disk of its own is mounted. */
function withDisk(path: string, megabytes: number): readonly string[] {
  const mount = `mount -t tmpfs -o size=${megabytes}m,mode=700 tmpfs "$0"`;
  return ["unshare", "-m", "sh", "-c", `${mount} && chown postgres "$0" && exec "$@"`, path];
}

function isRoot(): boolean {
  return userInfo().uid === 0;
}
