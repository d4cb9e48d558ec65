import { createHash } from "node:crypto";
import { createRandom } from "./random.ts";

/** One seed for all that is left to chance; the fault suite prints it, and takes one to run the same again. */
// biome-ignore lint/style/noProcessEnv: the suite's own, not a setting of the program
const SEED = process.env["FAULT_SEED"] ?? "1";

/** Numbers from 0 to below 1 for one use, named so that no two uses share a row of numbers. */
export function faultRandom(use: string): () => number {
  return createRandom(createHash("sha256").update(`${SEED} ${use}`).digest().readUInt32LE());
}
