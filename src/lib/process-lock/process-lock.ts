import { lstat, lutimes, readlink, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "../folders/make-folder.ts";
import { StartRefusal } from "../folders/start-refusal.ts";
import { randomBase62 } from "../id.ts";
import { type Heart, HeartbeatWatch, SILENCE_MS } from "./heartbeat-watch.ts";
import { isRunning, type ProcessIdentity, thisProcess } from "./process-identity.ts";

/** The owner of a lock. */
export interface LockOwner extends ProcessIdentity {
  /** Unique to one acquisition. */
  readonly token: string;
}

/**
 * File systems store a symbolic link's target in the inode up to this length (ext4 has the least room). A lock can
 * therefore be taken on a disk without a free block.
 */
const TEXT_MAX = 59;

/** Writes the owner as a lock's text. The host name comes last and may be truncated: it is only for humans. */
export function ownerText({ pid, startedAt, place, token, hostName }: LockOwner): string {
  return [pid, startedAt, place, token, hostName].join(":").slice(0, TEXT_MAX);
}

/** Parses the output of `ownerText`; undefined for any other text. */
export function parseOwner(text: string): LockOwner | undefined {
  const [, pid, startedAt = "", place = "", token = "", hostName = ""] =
    /^(\d+):(\d*):([^:]+):([^:]+):(.*)$/s.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startedAt, place, token, hostName };
}

/** Exclusive use of a folder by this process. */
export interface ProcessLock {
  readonly release: () => Promise<void>;
}

export interface ProcessLockOptions {
  /** What earlier attempts saw of owners in another `place`. Without it, such an owner counts as alive. */
  readonly watch?: HeartbeatWatch;
  /** Called once, unless released, when another process has taken the folder because it considered this one dead. */
  readonly onLost?: () => void;
}

/** Thrown when another live process holds the folder. The message names the owner and what to do. */
export class ProcessLockHeldError extends StartRefusal {
  override readonly name = "ProcessLockHeldError";
  /** False when a later check may find that the owner is gone. */
  readonly isCertain: boolean;

  constructor(text: string, isCertain: boolean) {
    super(text);
    this.isCertain = isCertain;
  }
}

const LOCK_NAME = "process.lock";
const HEARTBEAT_MS = 2_000;
/** Attempts to win a dead owner's lock. One is enough unless other processes compete. */
const ATTEMPTS_MAX = 50;
const RACE_PAUSE_MS = 20;
/** The number of successors that may die during a takeover. More than one is very unlikely. */
const HEIRS_MAX = 5;
const WAIT_PAUSE_MS = 500;
/** By then an owner in another `place` has been found alive or dead, and so has a successor that died too. */
const WAIT_MAX_MS = 2 * SILENCE_MS + 5_000;

/**
 * Stands for a file that is not a lock of ours: written by an earlier release, or damaged. Its modification time shows
 * whether it is in use.
 */
const UNREADABLE: LockOwner = {
  pid: 0,
  startedAt: "",
  place: "",
  hostName: "unknown",
  token: "unreadable",
};

/**
 * Acquires the folder for this process, and creates it if it is missing. A dead owner's lock is taken over. Throws a
 * ProcessLockHeldError when a live process, including this one, holds it. The process of an owner in another `place`
 * cannot be looked up. That owner counts as dead when its heartbeat has not changed for 15 seconds between two attempts
 * with the same watch.
 */
export async function acquireProcessLock(
  folder: string,
  { watch = new HeartbeatWatch(), onLost = () => undefined }: ProcessLockOptions = {},
): Promise<ProcessLock> {
  await makeFolder(folder);
  const path = join(folder, LOCK_NAME);
  const owner: LockOwner = { ...thisProcess(), token: randomBase62(8) };
  await new Taking(owner, watch).take(path, HEIRS_MAX);
  let isOver = false;
  const end = () => {
    isOver = true;
    clearInterval(heartbeat);
  };
  const heartbeat = setInterval(() => {
    void beat(path, owner.token).then((isOurs) => {
      if (isOurs || isOver) return;
      end();
      onLost();
    });
  }, HEARTBEAT_MS).unref();
  return {
    async release() {
      end();
      await removeIfOf(path, owner.token);
    },
  };
}

/**
 * Like `acquireProcessLock`, but waits until an owner in another `place` has proved alive or has been silent for too
 * long.
 *
 * @param onWait called once when such a wait begins.
 */
export async function awaitProcessLock(
  folder: string,
  { watch = new HeartbeatWatch(), onLost }: ProcessLockOptions = {},
  onWait: () => void = () => undefined,
): Promise<ProcessLock> {
  const deadline = performance.now() + WAIT_MAX_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await acquireProcessLock(folder, { watch, ...(onLost !== undefined && { onLost }) });
    } catch (thrown) {
      const mayBeGone = thrown instanceof ProcessLockHeldError && !thrown.isCertain;
      if (!mayBeGone || performance.now() > deadline) throw thrown;
    }
    if (attempt === 0) onWait();
    await sleep(WAIT_PAUSE_MS);
  }
}

/** One process's attempt to take a lock. */
class Taking {
  readonly #owner: LockOwner;
  readonly #watch: HeartbeatWatch;

  constructor(owner: LockOwner, watch: HeartbeatWatch) {
    this.#owner = owner;
    this.#watch = watch;
  }

  /**
   * Creates the owner's record at `path`, where only one can exist.
   *
   * Removing a dead owner's record is delicate: a late process must not remove the record of an earlier one. So only
   * the holder of the *succession*, a lock of the same kind named after the dead owner's token, may remove it. It may
   * do so only while the record is still the dead owner's.
   */
  async take(path: string, heirsLeft: number): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      if (await create(path, this.#owner)) return;
      const current = await read(path);
      if (current === undefined) continue;
      const heart = await this.#heartOf(path, current);
      if (heirsLeft === 0 || heart !== "is silent") throw heldBy(path, current, heart);
      const succession = `${path}.${current.token}`;
      try {
        await this.take(succession, heirsLeft - 1);
      } catch (thrown) {
        if (!(thrown instanceof ProcessLockHeldError)) throw thrown;
        // Another process is taking over: wait for the outcome.
        await sleep(RACE_PAUSE_MS);
        continue;
      }
      await removeIfOf(path, current.token);
      await removeIfOf(succession, this.#owner.token);
    }
    const text = `Too many processes want ${path} at once. Start one at a time.`;
    throw new ProcessLockHeldError(text, false);
  }

  async #heartOf(path: string, owner: LockOwner): Promise<Heart> {
    if (owner.place === this.#owner.place) return isRunning(owner) ? "beats" : "is silent";
    try {
      const { mtimeMs } = await lstat(path);
      return this.#watch.look(path, `${owner.token} ${mtimeMs}`);
    } catch (thrown) {
      if (isCode(thrown, "ENOENT")) return "is silent";
      throw thrown;
    }
  }
}

/**
 * Returns true when the record was created, false when one exists. It is a dangling symbolic link: it is created
 * atomically, and a full disk has room for it.
 */
async function create(path: string, owner: LockOwner): Promise<boolean> {
  try {
    await symlink(ownerText(owner), path);
    return true;
  } catch (thrown) {
    if (isCode(thrown, "EEXIST")) return false;
    throw thrown;
  }
}

async function read(path: string): Promise<LockOwner | undefined> {
  try {
    return parseOwner(await readlink(path)) ?? UNREADABLE;
  } catch (thrown) {
    if (isCode(thrown, "ENOENT")) return undefined;
    if (isCode(thrown, "EINVAL")) return UNREADABLE;
    throw thrown;
  }
}

/** Updates the heartbeat. Returns false when the lock is no longer its own. Never rejects. */
async function beat(path: string, token: string): Promise<boolean> {
  try {
    if ((await read(path))?.token !== token) return false;
    const now = new Date();
    await lutimes(path, now, now);
  } catch {
    // The next beat makes up for a missed one.
  }
  return true;
}

async function removeIfOf(path: string, token: string): Promise<void> {
  if ((await read(path))?.token !== token) return;
  await unlink(path).catch((thrown: unknown) => {
    if (!isCode(thrown, "ENOENT")) throw thrown;
  });
}

function heldBy(path: string, { pid, hostName }: LockOwner, heart: Heart): ProcessLockHeldError {
  return new ProcessLockHeldError(
    `${path} says that process ${pid} on ${hostName} already uses this folder. ` +
      "Stop that process, or give this one a folder of its own (DATA_DIR). " +
      "The lock of a process that has ended is taken over automatically.",
    heart === "beats",
  );
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}
