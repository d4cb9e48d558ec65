import { realpath } from "node:fs/promises";
import { within } from "../../lib/time/within.ts";

/** A file system that is gone may never answer. */
const WAIT_MS = 2_000;

const looks = new Map<string, Promise<string>>();

/**
 * Returns the path of a folder without symbolic links. It stays as it is when the folder is gone, or when its file
 * system does not answer in time.
 */
export function realFolder(folder: string): Promise<string> {
  return within(lookAt(folder), WAIT_MS, () => new Error("no answer in time")).catch(() => folder);
}

/** Events that come together share one look, because a look that hangs keeps a thread of the runtime. */
function lookAt(folder: string): Promise<string> {
  const known = looks.get(folder);
  if (known !== undefined) return known;
  const look = realpath(folder).finally(() => looks.delete(folder));
  looks.set(folder, look);
  return look;
}
