import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const FOLDER = resolve(import.meta.dirname, "../../../shared/fixtures");

/** A recorded or written sample of a vendor's traffic. */
export interface SharedFixture {
  /** Path inside the folder of fixtures. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The address it was recorded from, where that is known. */
  readonly url: string | undefined;
}

/**
 * The fixtures of these vendors, with their subfolders, whose names end so. Where the folder is missing there are none,
 * and one line says so: our own fixtures cover the same ground.
 */
export function readSharedFixtures(vendors: readonly string[], ending: string): SharedFixture[] {
  if (!existsSync(FOLDER)) {
    // biome-ignore lint/suspicious/noConsole: says which tests are left out
    console.info(
      `../shared is missing: the recorded samples of ${vendors.join(", ")} are left out.`,
    );
    return [];
  }
  return vendors.flatMap((vendor) =>
    readdirSync(join(FOLDER, vendor), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(ending))
      .sort()
      .map((name) => readFixture(join(vendor, name))),
  );
}

function readFixture(name: string): SharedFixture {
  const path = join(FOLDER, name);
  const meta = path.replace(/\.(request|response)\.(json|sse)$/, ".meta.json");
  const url =
    meta !== path && existsSync(meta) ? JSON.parse(readFileSync(meta, "utf8")).url : undefined;
  return { name, bytes: new Uint8Array(readFileSync(path)), url };
}
