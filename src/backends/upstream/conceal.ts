import { ServiceError } from "../../core/service-error.ts";
import type { Upstream } from "./upstream.ts";

const HIDDEN = "[hidden]";
const MAX_MESSAGE_LENGTH = 2_000;

/** The error with an engine's own words freed of our key and its address, and cut where they do not end. */
export function concealError(error: ServiceError, upstream: Upstream): ServiceError {
  const message = conceal(error.message, upstream);
  if (message === error.message) return error;
  // Beside its words an error's details hold nothing of the engine's.
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
  // A bare word such as the name of a container is no address, and may be a part of any sentence.
  return [host, hostname].filter((name) => /[.:]/.test(name));
}
