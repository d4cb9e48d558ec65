import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomBase62 } from "../../lib/id.ts";

/** A hold is renewed while it lasts, so that the one of a killed process ends by itself. */
const RENEWAL_MS = 10_000;
const LAPSED_MS = 120_000;
const HOLD = /^[0-9A-Za-z]{22}\.hold$/;

export interface RemovalHold {
  readonly end: () => Promise<void>;
}

/**
 * Keeps every content in FILES_DIR from being removed, by any replica, until it ends. A backup takes it before it reads
 * the database: then each file of the backup has its content. Who removes a content looks at the rows first and at the
 * holds after them.
 */
export async function holdRemoval(folder: string): Promise<RemovalHold> {
  const path = join(folder, `${randomBase62(22)}.hold`);
  const renew = () => writeFile(path, "", { mode: 0o600 });
  await renew();
  const timer = setInterval(() => void renew().catch(() => undefined), RENEWAL_MS).unref();
  return {
    async end() {
      clearInterval(timer);
      await rm(path, { force: true }).catch(() => undefined);
    },
  };
}

/** Whether any process holds the removal; forgets holds that lapsed. */
export async function isRemovalHeld(folder: string): Promise<boolean> {
  let isHeld = false;
  for (const name of await readdir(folder).catch(() => [])) {
    if (!HOLD.test(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    // The holder's writes have the file system's time, as this file has.
    if (Date.now() - found.mtimeMs < LAPSED_MS) isHeld = true;
    else await rm(path, { force: true }).catch(() => undefined);
  }
  return isHeld;
}
