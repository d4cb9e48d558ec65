import { lstat, lutimes, readlink, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { randomBase62 } from "../id.ts";
import { makeFolder } from "../make-folder.ts";
import { StartRefusal } from "../start-refusal.ts";
import { type Heart, HeartbeatWatch, SILENCE_MS } from "./heartbeat-watch.ts";
import { isRunning, type ProcessIdentity, thisProcess } from "./process-identity.ts";

/** Who holds a lock. */
export interface LockOwner extends ProcessIdentity {
  /** Unique to one acquisition. */
  readonly token: string;
}

/**
 * File systems keep the target of a symbolic link within the link's own entry up to this length (ext4 has the least
 * room), so that a lock can be taken on a disk without a free block.
 */
const TEXT_MAX = 59;

/** The owner as a lock's text. The name of the host comes last and may be cut: it is for people only. */
export function ownerText({ pid, startedAt, place, token, hostName }: LockOwner): string {
  return [pid, startedAt, place, token, hostName].join(":").slice(0, TEXT_MAX);
}

/** Reads what `ownerText` has written; undefined for any other text. */
export function parseOwner(text: string): LockOwner | undefined {
  const [, pid, startedAt = "", place = "", token = "", hostName = ""] =
    /^(\d+):(\d*):([^:]+):([^:]+):(.*)$/s.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startedAt, place, token, hostName };
}

/** A folder that this process alone uses. */
export interface ProcessLock {
  readonly release: () => Promise<void>;
}

export interface ProcessLockOptions {
  /** What earlier tries have seen of owners elsewhere. Without it, one elsewhere is taken for alive. */
  readonly watch?: HeartbeatWatch;
  /** Called once, unless released, when another process has the folder: it took this one for dead. */
  readonly onLost?: () => void;
}

/** Thrown when another living process holds the folder; the text says who and what to do. */
export class ProcessLockHeldError extends StartRefusal {
  override readonly name = "ProcessLockHeldError";
  /** False when a later look may find that the owner is gone. */
  readonly isCertain: boolean;

  constructor(text: string, isCertain: boolean) {
    super(text);
    this.isCertain = isCertain;
  }
}

const LOCK_NAME = "process.lock";
const HEARTBEAT_MS = 2_000;
/** Rounds of a race for a dead owner's lock; one is enough unless others race too. */
const ATTEMPTS_MAX = 50;
const RACE_PAUSE_MS = 20;
/** Heirs that died while they inherited; more than one is a curiosity. */
const HEIRS_MAX = 5;
const WAIT_PAUSE_MS = 500;
/** An owner elsewhere is decided upon by then, an heir of it that died too. */
const WAIT_MAX_MS = 2 * SILENCE_MS + 5_000;

/** What stands there is no lock of ours: a file of an earlier release, or spoilt. Its time tells whether it is used. */
const UNREADABLE: LockOwner = {
  pid: 0,
  startedAt: "",
  place: "",
  hostName: "unknown",
  token: "unreadable",
};

/**
 * Takes the folder for this process, making it where it is missing. A dead owner's lock is taken over.
 * Throws a ProcessLockHeldError when a living process, this one included, holds it. An owner elsewhere, whose process
 * cannot be looked up, is dead when its heartbeat has stood still for fifteen seconds between two tries with one watch.
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
 * As `acquireProcessLock`, but waits until an owner elsewhere has shown that it lives, or has been silent for too long.
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

/** One process's try to have a lock. */
class Taking {
  readonly #owner: LockOwner;
  readonly #watch: HeartbeatWatch;

  constructor(owner: LockOwner, watch: HeartbeatWatch) {
    this.#owner = owner;
    this.#watch = watch;
  }

  /**
   * Puts the owner's record at `path`, where only one can be.
   *
   * Removing a dead owner's record is the delicate part: whoever is late must not remove the record of the
   * one who was early. So only the holder of the *succession*, a lock of the same kind named after the dead
   * owner's token, may remove it, and only while the record is still that owner's.
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
        // Someone else is inheriting: wait for the outcome.
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
 * True when the record was put there; false when there is one already. It is a symbolic link that leads nowhere: one
 * step makes it whole or not at all, and a disk that is full has room for it.
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

/** Shows that the owner lives; false when the lock is no longer its own. Never rejects. */
async function beat(path: string, token: string): Promise<boolean> {
  try {
    if ((await read(path))?.token !== token) return false;
    const now = new Date();
    await lutimes(path, now, now);
  } catch {
    // A missed beat is made up by the next one.
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
      "The lock of a process that is gone is taken over by itself.",
    heart === "beats",
  );
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}
