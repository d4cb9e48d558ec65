import type { CustomFetchOptions } from "openid-client";
import { SignInRefusal } from "./sign-in-refusal.ts";

/** A token with some thousand groups is smaller. */
const ANSWER_MAX_BYTES = 256 * 1024;
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** Asks the provider. No redirect is followed, and an answer above the limit is a SignInRefusal. */
export async function fetchLimited(url: string, options: CustomFetchOptions): Promise<Response> {
  const { body, ...others } = options;
  const request: RequestInit = {
    ...others,
    ...(options.signal !== undefined && { signal: options.signal }),
    body: body as BodyInit | null,
    redirect: "manual",
  } as RequestInit;
  const response = await fetch(url, request);
  const bytes = await readLimited(response);
  const { status, headers } = response;
  const kept = new Headers(headers);
  // The body is decoded already.
  for (const name of ["content-encoding", "content-length"]) kept.delete(name);
  return new Response(WITHOUT_BODY.has(status) ? null : bytes, { status, headers: kept });
}

async function readLimited({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = body?.getReader();
  for (;;) {
    const next = await reader?.read();
    if (next === undefined || next.done) return new Uint8Array(Buffer.concat(chunks));
    size += next.value.length;
    chunks.push(next.value);
    if (size <= ANSWER_MAX_BYTES) continue;
    await reader?.cancel().catch(() => undefined);
    throw new SignInRefusal(
      403,
      "unusable_claims",
      `The provider's answer is larger than ${ANSWER_MAX_BYTES / 1_024} KiB. An administrator can limit the groups that ` +
        "it sends for OIDC_ADMIN_CLAIM, or leave out a scope of OIDC_SCOPES.",
    );
  }
}
