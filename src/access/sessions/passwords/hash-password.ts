import { hash } from "@node-rs/argon2";

/** argon2id with 19 MiB and two passes. The hash contains these parameters, so that they can be raised later. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 };

/** Returns a password in its stored form. Takes about 30 ms of one core, in a separate thread. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, COST);
}
