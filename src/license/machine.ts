import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isNull } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { installation } from "../db/tables/installation.ts";

/** The files in which systems keep the id that was generated at their installation. */
const MACHINE_ID_FILES = ["etc/machine-id", "var/lib/dbus/machine-id"];
const MACHINE_ID = /^[0-9a-f-]{32,36}$/i;

/**
 * Returns the id that a license is bound to. It is created at the first start from the machine's id, or at random
 * without one, then kept in the database for all replicas. An embedded database belongs to one machine: copied to a
 * machine with another id, it is another device. The machine's id is secret, so only a hash of it is used.
 * @param root the file system to read.
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

/** Derives the device id from the machine's id. Undefined when the machine has no id. */
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

/** One folder per card, from NVIDIA's driver. */
const NVIDIA = "proc/driver/nvidia/gpus";
/** One folder per node, processors included, from AMD's driver. */
const AMD = "sys/class/kfd/kfd/topology/nodes";
const HAS_SIMD_UNITS = /^simd_count [1-9]/m;

/**
 * Counts the GPUs that the drivers of this machine report; 0 when they report no GPU, as in most containers.
 * @param root the file system to read.
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
