import { callHttp } from "../../../support/clients/http-session.ts";

/** Far more than the model's context, so that the call fails. */
const TOO_LONG = "word ".repeat(20_000);

/**
 * Makes calls of each outcome that pages about usage, models and requests show: answered at once and as a stream,
 * failed, and refused by a limit of the key.
 *
 * @param create creates something by an administrator's session.
 */
export async function fillObserve(
  url: string,
  create: (path: string, body: unknown) => Promise<{ readonly key: string }>,
): Promise<void> {
  const { key } = await create("/v1/api-keys", { name: "observed", rpm_limit: 3 });
  for (const [content, stream] of [
    ["Hello", true],
    ["Hello", false],
    [TOO_LONG, false],
    ["refused", false],
  ] as const) {
    const body = { model: "sim-chat", stream, messages: [{ role: "user", content }] };
    await callHttp(url, { method: "POST", path: "/v1/chat/completions", token: key, body });
  }
}
