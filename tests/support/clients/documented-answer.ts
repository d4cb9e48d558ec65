import { buildOpenApiDocument } from "../../../scripts/openapi-documents.ts";
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

/** A document as it is read again and again: what is compiled of its schemas belongs to its objects. */
interface ReadDocument {
  readonly api: Json;
  /** A path without parameters stands before one with them. */
  readonly paths: readonly (readonly [pattern: RegExp, item: Json])[];
}

const readDocuments = new Map<string, ReadDocument>();

function parseDocument(text: string): ReadDocument {
  const known = readDocuments.get(text);
  if (known !== undefined) return known;
  const api = JSON.parse(text) as Json;
  const paths = Object.entries(api["paths"] as Readonly<Record<string, Json>>)
    .sort(([one], [other]) => one.split("{").length - other.split("{").length)
    .map(([template, item]) => [patternOf(template), item] as const);
  const read = { api, paths };
  readDocuments.set(text, read);
  return read;
}

/**
 * The first difference between a JSON answer and what its document says of it; undefined when there is none. A member
 * that the document does not name is one.
 */
export function findUndocumented(document: string, answered: Answered): string | undefined {
  const { method, status, body } = answered;
  // The path is served, by another method.
  if (status === 405) return undefined;
  const { api, paths } = parseDocument(document);
  const path = answered.path.split("?")[0] ?? "";
  const [operation] = paths
    .filter(([pattern]) => pattern.test(path))
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

const documents = new Map<"public" | "console", string>();

/** Throws when an answer of a server is not what its document says. */
export function expectDocumented(answered: Answered): void {
  const audience = answered.path.startsWith("/api/") ? "console" : "public";
  const document = documents.get(audience) ?? buildOpenApiDocument(audience);
  documents.set(audience, document);
  const fault = findUndocumented(document, answered);
  if (fault !== undefined) throw new Error(fault);
}
