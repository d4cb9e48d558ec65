import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isJsonObject } from "../../../src/lib/json/json.ts";
import { findSchemaFault, resolveReference } from "../../support/check-json-schema.ts";

const FOLDER = resolve(import.meta.dirname, "../../../../shared/specs");

type Json = Readonly<Record<string, unknown>>;

export interface PublishedSchemas {
  readonly name: string;
  /** What is wrong about an event; undefined when nothing is. */
  readonly findFault: (event: Json) => string | undefined;
  /** The same of a whole response. */
  readonly findFaultOfResponse: (response: Json) => string | undefined;
}

const DOCUMENTS = [
  ["OpenAI", "openai-openapi.subset.json", "Response"],
  ["Open Responses", "openresponses-2026-04-24.openapi.json", "ResponseResource"],
] as const;

/** The published definitions of the format. Where they are missing there are none, and one line says so. */
export function readPublishedSchemas(): PublishedSchemas[] {
  return DOCUMENTS.flatMap(([name, file, response]) => {
    const path = resolve(FOLDER, file);
    if (existsSync(path)) return [readDocument(name, path, response)];
    // biome-ignore lint/suspicious/noConsole: says which checks are left out
    console.info(`../shared is missing: events are not checked by the definition of ${name}.`);
    return [];
  });
}

function readDocument(name: string, path: string, response: string): PublishedSchemas {
  const document = JSON.parse(readFileSync(path, "utf8")) as Json;
  const schemas = resolveReference(document, "#/components/schemas") as Record<string, Json>;
  const events = new Map<unknown, Json>();
  for (const schema of Object.values(schemas)) {
    const members = (schema["properties"] ?? {}) as Record<string, Json>;
    const [type] = (members["type"]?.["enum"] ?? []) as string[];
    if (members["sequence_number"] !== undefined) events.set(type, schema);
  }
  // OpenAI's own answers say null where its definition knows only an object; the other definition asks for the null.
  const dropNull = ({ usage, ...rest }: Json): Json => (usage === null ? rest : { ...rest, usage });
  const withoutNullUsage = (event: Json): Json =>
    name === "OpenAI" && isJsonObject(event["response"])
      ? { ...event, response: dropNull(event["response"]) }
      : event;
  return {
    name,
    findFault(event) {
      const schema = events.get(event["type"]);
      return schema === undefined
        ? `there is no event ${String(event["type"])}`
        : findSchemaFault(document, schema, withoutNullUsage(event));
    },
    findFaultOfResponse: (value) =>
      findSchemaFault(document, schemas[response], name === "OpenAI" ? dropNull(value) : value),
  };
}
