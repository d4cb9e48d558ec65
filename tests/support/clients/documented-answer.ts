import { type Json, resolve } from "../api-document.ts";
import { findSchemaFault } from "../check-json-schema.ts";

/** What an OpenAPI document says of one answer. */
interface Answered {
  readonly method: string;
  /** With or without its query. */
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/**
 * The first difference between a JSON answer and what its document says of it; undefined when there is none. A member
 * that the document does not name is one.
 */
export function findUndocumented(document: string, answered: Answered): string | undefined {
  const { method, status, body } = answered;
  // The path is served, by another method.
  if (status === 405) return undefined;
  const api = JSON.parse(document) as Json;
  const path = answered.path.split("?")[0] ?? "";
  const paths = Object.entries(api["paths"] as Readonly<Record<string, Json>>);
  // A path without parameters is meant before one with them.
  const [operation] = paths
    .filter(([template]) => patternOf(template).test(path))
    .sort(([one], [other]) => one.split("{").length - other.split("{").length)
    .map(([, item]) => item[method.toLowerCase()] as Json | undefined)
    .filter((found) => found !== undefined);
  if (operation === undefined) {
    return status === 404 ? undefined : `${method} ${path} is in no document`;
  }
  const response = (operation["responses"] as Json)[status] as Json | undefined;
  const media = (response?.["content"] as Json | undefined)?.["application/json"];
  if (media === undefined) return `${method} ${path} answers ${status}, which is not documented`;
  const schema = (media as Json)["schema"] as Json;
  const fault = findSchemaFault(api, schema, body) ?? findUnknownMember(api, schema, body, "$");
  return fault === undefined ? undefined : `${method} ${path} ${status} ${fault}`;
}

/** A member of the value that its schema does not name, at any depth. */
function findUnknownMember(
  api: Json,
  schema: Json,
  value: unknown,
  at: string,
): string | undefined {
  if (Array.isArray(value)) {
    const items = partsOf(api, schema).find((part) => part["items"] !== undefined)?.["items"];
    return firstFault(value, (item, place) =>
      findUnknownMember(api, (items ?? {}) as Json, item, `${at}[${place}]`),
    );
  }
  const parts = partsOf(api, schema);
  const named = parts.filter((part) => part["properties"] !== undefined);
  if (typeof value !== "object" || value === null || named.length === 0) return undefined;
  const properties = Object.assign({}, ...named.map((part) => part["properties"])) as Json;
  return firstFault(Object.entries(value), ([name, member]) =>
    properties[name] === undefined
      ? `${at}.${name}: is not documented`
      : findUnknownMember(api, properties[name] as Json, member, `${at}.${name}`),
  );
}

function firstFault<Item>(
  items: readonly Item[],
  check: (item: Item, place: number) => string | undefined,
): string | undefined {
  for (const [place, item] of items.entries()) {
    const fault = check(item, place);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A schema, what it refers to and what it is made of. */
function partsOf(api: Json, schema: Json): readonly Json[] {
  const reference = schema["$ref"];
  if (typeof reference === "string") return partsOf(api, resolve(api, reference) as Json);
  const made = ["allOf", "anyOf", "oneOf"].flatMap((word) => (schema[word] ?? []) as Json[]);
  return [schema, ...made.flatMap((part) => partsOf(api, part))];
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

const documents = new Map<string, string>();

/** Throws when an answer of a server is not what its documents say. */
export async function expectDocumented(
  url: string,
  token: string | undefined,
  answered: Answered,
): Promise<void> {
  const path = answered.path.startsWith("/api/") ? "/api/openapi.json" : "/v1/openapi.json";
  const document = documents.get(path) ?? (await readDocument(url, path, token));
  if (document === undefined) return;
  // All servers of these tests are of one version.
  documents.set(path, document);
  const fault = findUndocumented(document, answered);
  if (fault !== undefined) throw new Error(fault);
}

/** Undefined for a caller who may not read it. */
async function readDocument(url: string, path: string, token = ""): Promise<string | undefined> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  return response.status === 200 ? text : undefined;
}
