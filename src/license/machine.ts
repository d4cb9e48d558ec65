import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isNull } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { installation } from "../db/tables/installation.ts";

/** Where systems keep the number that was made for them at their installation. */
const MACHINE_ID_FILES = ["etc/machine-id", "var/lib/dbus/machine-id"];
const MACHINE_ID = /^[0-9a-f-]{32,36}$/i;

/**
 * What a license is bound to: made at the first start from the machine's id, or by chance where it has none, then kept
 * in the database, one for all replicas. An embedded database has one machine: copied to one with another id, it is
 * another device. The machine's id is secret, so it goes in as a hash only.
 *
 * @param root the file system to look at.
 */
export async function openDeviceId(
  { db, kind }: Pick<Database, "db" | "kind">,
  root: string,
): Promise<string> {
  const ofMachine = await machineDeviceId(root);
  const isBoundToMachine = kind === "embedded" && ofMachine !== undefined;
  await db
    .update(installation)
    .set({ deviceId: ofMachine ?? format(randomBytes(16)) })
    .where(isBoundToMachine ? undefined : isNull(installation.deviceId));
  const [row] = await db.select({ deviceId: installation.deviceId }).from(installation);
  if (row?.deviceId == null) throw new Error("the installation is not in the database");
  return row.deviceId;
}

/** Undefined where the machine has no id. */
async function machineDeviceId(root: string): Promise<string | undefined> {
  for (const file of MACHINE_ID_FILES) {
    const machineId = (await readFile(join(root, file), "utf8").catch(() => "")).trim();
    if (MACHINE_ID.test(machineId)) return format(hash(machineId));
  }
  return undefined;
}

function hash(machineId: string): Buffer {
  return createHash("sha256").update(`inference-gateway device ${machineId}`).digest();
}

function format(bytes: Buffer): string {
  return `dev_${bytes.subarray(0, 16).toString("hex")}`;
}

/** One folder a card, by NVIDIA's driver. */
const NVIDIA = "proc/driver/nvidia/gpus";
/** One folder a node, processors included, by AMD's driver. */
const AMD = "sys/class/kfd/kfd/topology/nodes";
const HAS_SIMD_UNITS = /^simd_count [1-9]/m;

/**
 * How many GPUs the drivers of this machine show; 0 where there is none to see, as in most containers.
 *
 * @param root the file system to look at.
 */
export async function countGpus(root: string): Promise<number> {
  const [nvidia, nodes] = await Promise.all([list(join(root, NVIDIA)), list(join(root, AMD))]);
  const properties = await Promise.all(
    nodes.map((node) => readFile(join(root, AMD, node, "properties"), "utf8").catch(() => "")),
  );
  return nvidia.length + properties.filter((text) => HAS_SIMD_UNITS.test(text)).length;
}

function list(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
