import { join, resolve } from "node:path";
import { filesFolder, journalsFolder } from "../../../config/folders.ts";
import type { Settings } from "../../../config/settings.ts";

export type PlaceSettings = Pick<
  Settings,
  "DATA_DIR" | "JOURNAL_DIR" | "FILES_DIR" | "LICENSE_FILE"
>;

/** The folders in which an installation keeps data outside its database. */
export interface Places {
  readonly dataFolder: string;
  readonly secret: string;
  readonly seenTime: string;
  readonly license: string;
  readonly journals: string;
  /** The folder of uploaded files. */
  readonly files: string;
}

export function placesOf({
  DATA_DIR,
  JOURNAL_DIR,
  FILES_DIR,
  LICENSE_FILE,
}: PlaceSettings): Places {
  const dataFolder = resolve(DATA_DIR);
  return {
    dataFolder,
    secret: join(dataFolder, "secret"),
    seenTime: join(dataFolder, "seen-time"),
    license: resolve(LICENSE_FILE ?? join(dataFolder, "license.lic")),
    journals: journalsFolder({ DATA_DIR, JOURNAL_DIR }),
    files: filesFolder({ DATA_DIR, FILES_DIR }),
  };
}
