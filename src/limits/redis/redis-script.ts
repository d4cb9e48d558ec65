import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";

/** A script of this folder. It runs on the server, atomically. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
  /** Connections over which the server has received its text. */
  readonly knownOver: WeakSet<object>;
}

const textOf = (name: string) =>
  readFileSync(new URL(`./redis-${name}.lua`, import.meta.url), "utf8");
const KEY = textOf("key");

/** Reads `redis-<name>.lua` and prepends the common part of all scripts. */
export function redisScript(name: string): RedisScript {
  const text = KEY + textOf(name);
  return { text, sha: createHash("sha1").update(text).digest("hex"), knownOver: new WeakSet() };
}

/**
 * Runs a script: in full the first time over a connection, then by its hash. Asking first whether the server knows the
 * hash would let later commands overtake it.
 */
export async function runScript(
  redis: Redis,
  { text, sha, knownOver }: RedisScript,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  const connection: object = redis.stream;
  if (!knownOver.has(connection)) {
    knownOver.add(connection);
    return redis.eval(text, keys.length, ...keys, ...args);
  }
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args);
  } catch (thrown) {
    if (!(thrown instanceof Error && thrown.message.startsWith("NOSCRIPT"))) throw thrown;
    return redis.eval(text, keys.length, ...keys, ...args);
  }
}
