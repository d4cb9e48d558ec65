import { ServiceError } from "../core/service-error.ts";
import type { Upstream } from "./upstream.ts";

const HIDDEN = "[hidden]";
const MAX_MESSAGE_LENGTH = 2_000;

/** The error with an engine's own words freed of our key and its address, and cut where they do not end. */
export function concealError(error: ServiceError, upstream: Upstream): ServiceError {
  const message = conceal(error.message, upstream);
  if (message === error.message) return error;
  const { code, param, retryAfterSeconds, shouldRetry, cause } = error;
  return new ServiceError(code, message, { param, retryAfterSeconds, shouldRetry, cause });
}

function conceal(message: string, { address, secrets }: Upstream): string {
  const { host, hostname } = new URL(address);
  // A bare word such as the name of a container is no address, and may be a part of any sentence.
  const hosts = [host, hostname].filter((name) => /[.:]/.test(name));
  let text = message;
  for (const secret of [...secrets, address, ...hosts]) text = text.replaceAll(secret, HIDDEN);
  return text.slice(0, MAX_MESSAGE_LENGTH);
}
