import { link, mkdir, readFile, rm, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { randomBase62 } from "./id.ts";
import { isRunning, type ProcessIdentity, thisProcess } from "./process-identity.ts";
import { StartRefusal } from "./start-refusal.ts";

/** A folder that this process alone uses. */
export interface ProcessLock {
  readonly release: () => Promise<void>;
}

/** Thrown when another living process holds the folder; the text says who and what to do. */
export class ProcessLockHeldError extends StartRefusal {
  override readonly name = "ProcessLockHeldError";
}

const LOCK_NAME = "process.lock";
const HEARTBEAT_MS = 2_000;
/** An owner elsewhere, whose process cannot be looked up, counts as dead after this silence. */
const HEARTBEAT_STALE_MS = 15_000;
/** Rounds of a race for a dead owner's lock; one is enough unless others race too. */
const ATTEMPTS_MAX = 50;
const RACE_PAUSE_MS = 20;
/** Heirs that died while they inherited; more than one is a curiosity. */
const HEIRS_MAX = 5;

interface Holder extends ProcessIdentity {
  /** Unique to one acquisition. */
  readonly token: string;
}

/**
 * Takes the folder for this process, making it where it is missing. A dead owner's lock is taken over.
 * Throws a ProcessLockHeldError when a living process, this one included, holds it.
 */
export async function acquireProcessLock(folder: string): Promise<ProcessLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, LOCK_NAME);
  const holder: Holder = { ...thisProcess(), token: randomBase62(16) };
  await take(path, holder, HEIRS_MAX);
  const heartbeat = setInterval(() => void touch(path), HEARTBEAT_MS);
  heartbeat.unref();
  return {
    async release() {
      clearInterval(heartbeat);
      await removeIfOf(path, holder.token);
    },
  };
}

/**
 * Puts the holder's record at `path`, where only one can be.
 *
 * Removing a dead owner's record is the delicate part: whoever is late must not remove the record of the
 * one who was early. So only the holder of the *succession*, a lock of the same kind named after the dead
 * owner's token, may remove it, and only while the record is still that owner's.
 */
async function take(path: string, holder: Holder, heirsLeft: number): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (await create(path, holder)) return;
    const current = await read(path);
    if (current === undefined) continue;
    if (heirsLeft === 0 || (await isAlive(path, current))) throw heldBy(path, current);
    const succession = `${path}.${current.token}`;
    try {
      await take(succession, holder, heirsLeft - 1);
    } catch (thrown) {
      if (!(thrown instanceof ProcessLockHeldError)) throw thrown;
      // Someone else is inheriting: wait for the outcome.
      await sleep(RACE_PAUSE_MS);
      continue;
    }
    await removeIfOf(path, current.token);
    await removeIfOf(succession, holder.token);
  }
  throw new ProcessLockHeldError(`Too many processes want ${path} at once. Start one at a time.`);
}

/** True when the record was put there; false when there is one already. The record appears whole or not at all. */
async function create(path: string, holder: Holder): Promise<boolean> {
  const draft = `${path}.${holder.token}.draft`;
  await writeFile(draft, JSON.stringify(holder), { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (thrown) {
    if (isCode(thrown, "EEXIST")) return false;
    throw thrown;
  } finally {
    await rm(draft, { force: true });
  }
}

async function read(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Holder;
  } catch (thrown) {
    if (isCode(thrown, "ENOENT")) return undefined;
    if (!(thrown instanceof SyntaxError)) throw thrown;
    // Cut short by a loss of power: nobody's.
    return { pid: 0, startedAt: "", place: "", hostName: "unknown", token: "damaged" };
  }
}

async function isAlive(path: string, holder: Holder): Promise<boolean> {
  if (holder.place === thisProcess().place) return isRunning(holder);
  try {
    return Date.now() - (await stat(path)).mtimeMs < HEARTBEAT_STALE_MS;
  } catch (thrown) {
    if (isCode(thrown, "ENOENT")) return false;
    throw thrown;
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  // A missed beat is made up by the next one.
  await utimes(path, now, now).catch(() => undefined);
}

async function removeIfOf(path: string, token: string): Promise<void> {
  if ((await read(path))?.token !== token) return;
  await unlink(path).catch((thrown: unknown) => {
    if (!isCode(thrown, "ENOENT")) throw thrown;
  });
}

function heldBy(path: string, { pid, hostName }: Holder): ProcessLockHeldError {
  return new ProcessLockHeldError(
    `${path} says that process ${pid} on ${hostName} already uses this folder. ` +
      "Stop that process, or give this one a folder of its own (DATA_DIR). " +
      "The lock of a process that is gone is taken over by itself.",
  );
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}
