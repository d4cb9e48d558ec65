import { encodeError as encodeMessagesError } from "../../codecs/messages/server/encode-error.ts";
import { encodeError } from "../../codecs/shared/errors/openai-error-body.ts";
import { type ErrorCode, type ErrorDetails, ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";

/** The headers and errors that every route can answer with, so that no definition has to repeat them. */

const text = (description: string, example: string) => ({
  description,
  schema: { type: "string" },
  example,
});
const count = (description: string) => ({ description, schema: { type: "integer" }, example: 60 });
const time = "How long until all of it is there again.";

const HEADERS = {
  "x-request-id": text("The id of this request. Quote it when you ask for help.", "req_mfx2k0a9"),
  "retry-after": { ...count("Whole seconds to wait before the next try."), example: 5 },
  "x-should-retry": text("`false` when no wait helps. Client libraries obey it.", "false"),
  "www-authenticate": text("How to authenticate.", "Bearer"),
  "x-ratelimit-limit-requests": count("Calls that the key allows; only where it limits them."),
  "x-ratelimit-remaining-requests": count("Calls that are left."),
  "x-ratelimit-reset-requests": text(time, "12s"),
  "x-ratelimit-limit-tokens": count("Tokens that the key allows; only where it limits them."),
  "x-ratelimit-remaining-tokens": count("Tokens that are left."),
  "x-ratelimit-reset-tokens": text(time, "6m0s"),
  "anthropic-ratelimit-requests-limit": count("Calls that the key allows."),
  "anthropic-ratelimit-requests-remaining": count("Calls that are left."),
  "anthropic-ratelimit-requests-reset": text(time, "2026-09-21T13:33:20Z"),
  "anthropic-ratelimit-tokens-limit": count("Tokens that the key allows."),
  "anthropic-ratelimit-tokens-remaining": count("Tokens that are left."),
  "anthropic-ratelimit-tokens-reset": text(time, "2026-09-21T13:33:20Z"),
};
type HeaderName = keyof typeof HEADERS;

const REFUSED: readonly HeaderName[] = ["x-should-retry"];
const WAIT: readonly HeaderName[] = ["retry-after"];
const OF_STATUS: Readonly<Record<string, readonly HeaderName[]>> = {
  401: ["www-authenticate", ...REFUSED],
  403: REFUSED,
  429: [...WAIT, ...REFUSED],
  503: WAIT,
  529: WAIT,
};

const REQUEST_ID = "req_mfx2k0a9";
const EXAMPLES: Readonly<Record<string, readonly [ErrorCode, string, ErrorDetails?]>> = {
  400: [
    "invalid_value",
    "'temperature' is invalid: expected a number, received the string \"hot\".",
    { param: "temperature" },
  ],
  401: ["invalid_api_key", "The API key is unknown, revoked or expired."],
  403: ["ip_denied", "The API key may not be used from this address."],
  404: ["not_found", "There is nothing of this id."],
  408: ["request_timeout", "The body took too long to arrive."],
  409: ["run_active", "Another one is in progress."],
  413: ["request_too_large", "The body is over the limit."],
  415: ["unsupported_media_type", "The body must be JSON in UTF-8."],
  429: ["rate_limit_exceeded", "The key's limit of 60 calls a minute is reached."],
  502: ["upstream_error", "The engine failed."],
  503: ["overloaded", "The service cannot take the call now."],
  504: ["upstream_timeout", "The engine did not answer in time."],
  529: ["overloaded", "The vendor's servers are overloaded."],
};

/** Completes the document with the headers of every answer, an example of every error, and the list of its tags. */
export function completeDocument(document: JsonObject): JsonObject {
  const tags = new Set<unknown>();
  const operations = mapObject(document["paths"], (item) =>
    mapObject(item, (operation) => {
      if (Array.isArray(operation["tags"])) for (const tag of operation["tags"]) tags.add(tag);
      return completeOperation(operation);
    }),
  );
  const components = isJsonObject(document["components"]) ? document["components"] : {};
  return {
    ...document,
    tags: [...tags].map((name) => ({ name: String(name) })),
    paths: operations,
    components: { ...components, headers: HEADERS },
  };
}

/** Limits belong to API keys, so only routes that accept keys have limit headers. */
function takesKeys({ security }: JsonObject): boolean {
  return Array.isArray(security) && security.some((one) => isJsonObject(one) && "bearerKey" in one);
}

function completeOperation(operation: JsonObject): JsonObject {
  const { responses } = operation;
  const isLimited = takesKeys(operation) && isJsonObject(responses) && "429" in responses;
  const limits = isLimited ? limitHeadersOf(responses) : [];
  return {
    ...operation,
    responses: mapObject(responses, (response, status) => {
      const names: HeaderName[] = ["x-request-id", ...(OF_STATUS[status] ?? [])];
      if (status === "200" || status === "429") names.push(...limits);
      const headers = Object.fromEntries(
        names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
      );
      const own = isJsonObject(response["headers"]) ? response["headers"] : {};
      return { ...withExample(response, status), headers: { ...headers, ...own } };
    }),
  };
}

/** Metered answers of each family report the remaining limits of a key in headers of their own. */
function limitHeadersOf(responses: JsonObject): HeaderName[] {
  const prefix = schemaOf(responses["429"]).endsWith("MessagesError") ? "anthropic-" : "x-";
  return (Object.keys(HEADERS) as HeaderName[]).filter((name) =>
    name.startsWith(`${prefix}ratelimit-`),
  );
}

function withExample(response: JsonObject, status: string): JsonObject {
  const example = EXAMPLES[status];
  const schema = schemaOf(response);
  if (example === undefined || !schema.endsWith("Error")) return response;
  const error = new ServiceError(...example);
  const body = schema.endsWith("MessagesError")
    ? encodeMessagesError(error, REQUEST_ID)
    : encodeError(error);
  const content = mapObject(response["content"], (media) => ({ ...media, example: body }));
  return { ...response, content };
}

/** Returns the reference of a JSON answer's schema; empty when there is no schema. */
function schemaOf(response: unknown): string {
  const { content } = isJsonObject(response) ? response : {};
  const media = isJsonObject(content) ? content["application/json"] : undefined;
  const schema = isJsonObject(media) ? media["schema"] : undefined;
  const reference = isJsonObject(schema) ? schema["$ref"] : undefined;
  return typeof reference === "string" ? reference : "";
}

function mapObject(
  object: unknown,
  change: (value: JsonObject, name: string) => JsonObject,
): JsonObject {
  if (!isJsonObject(object)) return {};
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name,
      isJsonObject(value) ? change(value, name) : value,
    ]),
  );
}
