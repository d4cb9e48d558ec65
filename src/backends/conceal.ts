import type { Upstream } from "./upstream.ts";

const HIDDEN = "[hidden]";
const MAX_MESSAGE_LENGTH = 2_000;

/** An engine's own words without our key and without its address, and not without end. */
export function conceal(message: string, { address, secrets }: Upstream): string {
  const { host, hostname } = new URL(address);
  let text = message.slice(0, MAX_MESSAGE_LENGTH);
  for (const secret of [...secrets, address, host, hostname]) {
    if (secret !== "") text = text.replaceAll(secret, HIDDEN);
  }
  return text;
}
