import { SignInRefusal } from "../../access/sign-in/sign-in-refusal.ts";
import { ServiceError } from "../../core/service-error.ts";
import { causeOf, type Log } from "../../lib/log.ts";
import { signInPage } from "./sign-in-page.ts";

/** After a failure, the provider is asked again about then. */
export const RETRY_SECONDS = 5;

/** Builds the page for a sign-in that is refused. Throws whatever else was thrown. */
export function refusalPage(thrown: unknown, log: Log): Response {
  const isForPerson = thrown instanceof SignInRefusal || thrown instanceof ServiceError;
  if (!isForPerson) throw thrown;
  if (thrown instanceof SignInRefusal && thrown.reason === "provider_unreachable") {
    log.warn({ cause: causeOf(thrown.cause ?? thrown) }, "the sign-in provider failed");
  }
  const response = signInPage(thrown.status, {
    title: "You are not signed in",
    text: thrown.message,
    link: { path: "/api/auth/oidc/login", text: "Sign in again" },
  });
  const seconds = retryAfterOf(thrown);
  if (seconds !== undefined) response.headers.set("retry-after", String(seconds));
  return response;
}

function retryAfterOf(thrown: SignInRefusal | ServiceError): number | undefined {
  if (thrown instanceof SignInRefusal) return thrown.status === 503 ? RETRY_SECONDS : undefined;
  const { retryAfterSeconds: seconds } = thrown;
  return seconds === undefined ? undefined : Math.max(1, Math.ceil(seconds));
}
