import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

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
