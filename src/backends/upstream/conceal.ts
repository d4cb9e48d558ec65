import { ServiceError } from "../../core/service-error.ts";
import type { Upstream } from "./upstream.ts";

const HIDDEN = "[hidden]";
const MAX_MESSAGE_LENGTH = 2_000;

/** Redacts our key and the engine's address from an engine's own message, and truncates a long one. */
export function concealError(error: ServiceError, upstream: Upstream): ServiceError {
  const message = conceal(error.message, upstream);
  if (message === error.message) return error;
  // Only the message comes from the engine; the error's details do not.
  return new ServiceError(error.code, message, error);
}

function conceal(message: string, { address, replicas, secrets }: Upstream): string {
  const addresses = replicas?.addresses ?? [address];
  const hidden = [...secrets, ...addresses, ...addresses.flatMap(hostsOf)];
  let text = message;
  for (const secret of hidden) text = text.replaceAll(secret, HIDDEN);
  return text.slice(0, MAX_MESSAGE_LENGTH);
}

function hostsOf(address: string): string[] {
  const { host, hostname } = new URL(address);
  // A bare word such as a container's name is not redacted, because it may occur in any sentence.
  return [host, hostname].filter((name) => /[.:]/.test(name));
}
