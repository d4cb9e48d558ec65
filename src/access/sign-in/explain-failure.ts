import { AuthorizationResponseError, ResponseBodyError } from "openid-client";
import { type RefusalReason, SignInRefusal } from "./sign-in-refusal.ts";

const DEPTH_MAX = 5;
const CODE_MAX_LENGTH = 60;

const WRONG_CLAIMS: ReadonlyMap<unknown, RefusalReason> = new Map([
  ["nonce", "wrong_nonce"],
  ["iss", "wrong_issuer"],
  ["aud", "wrong_audience"],
  ["azp", "wrong_audience"],
]);

/**
 * Returns the refusal for a failure of the exchange with the provider. Its text is for the page; what the provider said
 * is not shown, because anybody can write it into a link.
 */
export function explainFailure(thrown: unknown, issuer: string): SignInRefusal {
  const chain = causesOf(thrown);
  const refusal = chain.find((one) => one instanceof SignInRefusal);
  if (refusal !== undefined) return refusal;
  if (isUnreachable(thrown)) return unreachable(issuer, thrown);
  const said = chain.find(
    (one) => one instanceof ResponseBodyError || one instanceof AuthorizationResponseError,
  );
  if (said !== undefined) {
    const details = { error: said.error.slice(0, CODE_MAX_LENGTH) };
    return refuse("refused_by_provider", "The provider refused this sign-in.", { details, thrown });
  }
  const reason = reasonOf(chain);
  if (reason === "wrong_time") {
    const text = "The provider's token is not valid at this time: one of the two clocks is wrong.";
    return refuse(reason, text, { thrown });
  }
  return refuse(reason, "The provider's answer does not fit this sign-in.", { thrown });
}

/** Whether the provider, or its description, could not be had at all. */
export function isUnreachable(thrown: unknown): boolean {
  const codes = new Set([
    "OAUTH_TIMEOUT",
    "OAUTH_ABORT",
    "OAUTH_RESPONSE_IS_NOT_CONFORM",
    "OAUTH_RESPONSE_IS_NOT_JSON",
    "OAUTH_PARSE_ERROR",
  ]);
  return causesOf(thrown).some(
    (one) =>
      (one instanceof TypeError &&
        !("code" in one && String(one.code).startsWith("ERR_INVALID"))) ||
      codes.has(codeOf(one)) ||
      /^(?:E[A-Z]{4,}|ConnectionRefused|ConnectionClosed|UND_ERR_\w+)$/.test(codeOf(one)),
  );
}

function reasonOf(chain: readonly Error[]): RefusalReason {
  for (const error of chain) {
    const code = codeOf(error);
    if (code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED") return "wrong_time";
    if (code === "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED") return "wrong_issuer";
    if (code === "OAUTH_JWT_CLAIM_COMPARISON_FAILED") {
      return WRONG_CLAIMS.get(claimOf(error)) ?? "wrong_token";
    }
    if (/"iss"/.test(error.message)) return "wrong_issuer";
    if (/"state"/.test(error.message)) return "wrong_state";
  }
  return "wrong_token";
}

function unreachable(issuer: string, cause: unknown): SignInRefusal {
  return new SignInRefusal(
    503,
    "provider_unreachable",
    `The sign-in provider ${new URL(issuer).host} cannot be reached or does not describe itself. Try again later, or tell ` +
      "an administrator, who finds its address in OIDC_ISSUER.",
    { cause },
  );
}

interface Explained {
  readonly details?: { readonly error: string };
  readonly thrown: unknown;
}

function refuse(reason: RefusalReason, text: string, { details, thrown }: Explained) {
  return new SignInRefusal(
    403,
    reason,
    `${text} Sign in again; if it goes on, tell an administrator.`,
    {
      ...(details !== undefined && { details }),
      cause: thrown,
    },
  );
}

function causesOf(thrown: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (let at = thrown; at instanceof Error && chain.length < DEPTH_MAX; at = at.cause)
    chain.push(at);
  return chain;
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/** The library names the claim in the cause of its error. */
function claimOf({ cause, ...error }: Error): unknown {
  const own = typeof cause === "object" && cause !== null ? cause : error;
  if ("claim" in own) return own.claim;
  return "cause" in own && own.cause instanceof Object && "claim" in own.cause
    ? own.cause.claim
    : undefined;
}
