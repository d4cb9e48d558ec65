import { ServiceError } from "../core/service-error.ts";
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

function conceal(message: string, { address, secrets }: Upstream): string {
  const { host, hostname } = new URL(address);
  // A bare word such as the name of a container is no address, and may be a part of any sentence.
  const hosts = [host, hostname].filter((name) => /[.:]/.test(name));
  let text = message;
  for (const secret of [...secrets, address, ...hosts]) text = text.replaceAll(secret, HIDDEN);
  return text.slice(0, MAX_MESSAGE_LENGTH);
}
