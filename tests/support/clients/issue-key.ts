import { setTimeout as sleep } from "node:timers/promises";
import { TEST_KEY, type TestGateway } from "../servers/start-gateway.ts";

/** Limits by the names the API gives them. */
export interface LimitFields {
  readonly monthly_token_limit?: number | null;
  readonly request_limit?: number | null;
  readonly rpm_limit?: number | null;
  readonly token_limit?: number | null;
}

export interface IssuedKey {
  readonly id: string;
  /** The secret. */
  readonly key: string;
}

interface LimitUse {
  readonly limit: number;
  readonly used: number;
  readonly reserved: number;
  readonly remaining: number;
}

/** Issues a key with these limits as an administrator does. */
export async function issueKey(
  { url }: Pick<TestGateway, "url">,
  limits: LimitFields,
): Promise<IssuedKey> {
  const response = await fetch(`${url}/v1/api-keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "of a test", ...limits }),
  });
  if (response.status !== 201) throw new Error(`no key was issued: ${await response.text()}`);
  return (await response.json()) as IssuedKey;
}

/** Where a key stands, by its own word. */
export async function readLimitUse(
  { url }: Pick<TestGateway, "url">,
  { id, key }: IssuedKey,
  limit: "requests_per_minute" | "requests" | "tokens" | "monthly_tokens",
): Promise<LimitUse> {
  const response = await fetch(`${url}/v1/api-keys/${id}/usage`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const usage = (await response.json()) as { limits: Readonly<Record<string, LimitUse>> };
  const use = usage.limits[limit];
  if (use === undefined) throw new Error(`the key has no such limit: ${JSON.stringify(usage)}`);
  return use;
}

const SETTLED_WITHIN_MS = 30_000;

/** Resolves with where the key stands once its calls hold nothing any more. */
export async function settledUse(
  gateway: Pick<TestGateway, "url">,
  key: IssuedKey,
  limit: Parameters<typeof readLimitUse>[2],
): Promise<LimitUse> {
  const until = Date.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const use = await readLimitUse(gateway, key, limit);
    if (use.reserved === 0) return use;
    if (Date.now() > until) throw new Error(`${use.reserved} tokens are still held`);
    await sleep(20);
  }
}
