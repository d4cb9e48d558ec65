import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isNull } from "drizzle-orm";
import type { Database } from "../../db/database.ts";
import { installation } from "../../db/tables/installation.ts";

/** Where systems keep the number that was made for them at their installation. */
const MACHINE_ID_FILES = ["etc/machine-id", "var/lib/dbus/machine-id"];
const MACHINE_ID = /^[0-9a-f-]{32,36}$/i;

/**
 * What a license is bound to: made at the first start from the machine's id, or by chance where it has none, then kept
 * in the database, one for all replicas. The machine's id is secret, so it goes in as a hash alone.
 *
 * @param root the file system to look at.
 */
export async function openDeviceId({ db }: Pick<Database, "db">, root: string): Promise<string> {
  const made = await makeDeviceId(root);
  await db.update(installation).set({ deviceId: made }).where(isNull(installation.deviceId));
  const [row] = await db.select({ deviceId: installation.deviceId }).from(installation);
  if (row?.deviceId == null) throw new Error("the installation is not in the database");
  return row.deviceId;
}

async function makeDeviceId(root: string): Promise<string> {
  for (const file of MACHINE_ID_FILES) {
    const machineId = (await readFile(join(root, file), "utf8").catch(() => "")).trim();
    if (MACHINE_ID.test(machineId)) return format(hash(machineId));
  }
  return format(randomBytes(16));
}

function hash(machineId: string): Buffer {
  return createHash("sha256").update(`inference-gateway device ${machineId}`).digest();
}

function format(bytes: Buffer): string {
  return `dev_${bytes.subarray(0, 16).toString("hex")}`;
}
