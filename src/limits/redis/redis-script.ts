import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";

/** A script of this folder. It runs on the server, whole and alone. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
  /** Connections over which the server was given its text. */
  readonly knownOver: WeakSet<object>;
}

const textOf = (name: string) =>
  readFileSync(new URL(`./redis-${name}.lua`, import.meta.url), "utf8");
const KEY = textOf("key");

/** Reads `redis-<name>.lua`; what all scripts begin with comes before it. */
export function redisScript(name: string): RedisScript {
  const text = KEY + textOf(name);
  return { text, sha: createHash("sha1").update(text).digest("hex"), knownOver: new WeakSet() };
}

/**
 * Runs a script: in full for the first time over a connection, then by its hash. To ask first whether the server knows
 * the hash would let what is sent later overtake it.
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
