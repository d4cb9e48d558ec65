import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../lib/log.ts";
import { type ConsoleBuild, readBuild } from "./read-build.ts";

/** How often, at most, the disk is asked whether there is a new build. */
const LOOK_MS = 1_000;

interface Watched {
  readonly folder: string;
  readonly log: Pick<Log, "info" | "warn">;
  /** Returns milliseconds. */
  readonly now: () => number;
}

/**
 * Creates the function that returns the newest build of a folder, undefined until there is one. A build stays when the
 * one after it cannot be read, and nothing is read before somebody asks.
 */
export function watchBuild({ folder, log, now }: Watched): () => Promise<ConsoleBuild | undefined> {
  let build: ConsoleBuild | undefined;
  let loaded = "";
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;
  let told = "";

  const look = async () => {
    const sign = await signOf(folder);
    if (sign === loaded || sign === undefined) return;
    try {
      build = await readBuild(folder);
      loaded = sign;
      log.info({ build: build.id, files: build.files.size }, "the console is loaded");
    } catch (thrown) {
      // It may be being replaced. The next look reads it again.
      if (told !== sign) log.warn({ err: thrown }, "the build of the console cannot be read");
      told = sign;
    }
  };
  return async () => {
    if (looking === undefined && now() - lookedAt >= LOOK_MS) {
      lookedAt = now();
      looking = look().finally(() => {
        looking = undefined;
      });
    }
    await looking;
    return build;
  };
}

/** Returns what changes whenever the manifest is replaced; undefined when there is none. */
async function signOf(folder: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs, size } = await stat(join(folder, "build.json"));
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return undefined;
  }
}
