import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { findSchemaFault } from "./check-json-schema.ts";

type Json = Readonly<Record<string, unknown>>;

const FOLDER = resolve(import.meta.dirname, "../../../shared/specs");
const schemas = new Map<string, Json>();
const documents = new Map<string, Json | undefined>();

/**
 * The first fault of a value under the published schema of a version of the Model Context Protocol; undefined when there
 * is none, and where the schema is not at hand, which is said once.
 */
export function findMcpFault(type: string, value: unknown, version: string): string | undefined {
  if (!documents.has(version)) documents.set(version, readDocument(version));
  const document = documents.get(version);
  if (document === undefined) return undefined;
  const named = (document["$defs"] ?? document["definitions"]) as Readonly<Record<string, Json>>;
  const known = named[type] ?? named[OLDER_NAMES[type] ?? ""];
  if (known === undefined) return `the version ${version} has no type '${type}'`;
  const { $defs, definitions } = document;
  const name = `${version} ${type}`;
  // The validator is found again by the schema's identity.
  const schema = schemas.get(name) ?? { ...known, $defs, definitions };
  schemas.set(name, schema);
  return findSchemaFault(document, schema, value);
}

const OLDER_NAMES: Readonly<Record<string, string>> = { JSONRPCErrorResponse: "JSONRPCError" };

function readDocument(version: string): Json | undefined {
  const path = resolve(FOLDER, `mcp-schema-${version}.json`);
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8"));
  // biome-ignore lint/suspicious/noConsole: says which checks are left out
  console.info(`${path} is missing: answers are not compared with it.`);
  return undefined;
}
