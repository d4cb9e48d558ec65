import { isObject, type JsonValue } from "./json/json-schema.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Says what a trigger of a definition waits for: `Schedule 30 2 * * * Europe/Berlin`. */
export function describeTrigger(trigger: JsonValue | undefined): string {
  const fields: Fields = isObject(trigger) ? trigger : {};
  const { kind } = fields;
  const words = WORDS[String(kind)]?.(fields) ?? [];
  const head = typeof kind === "string" && kind !== "" ? kind : "No kind";
  const shown = words.filter((word) => typeof word === "string" && word !== "");
  return [`${head.charAt(0).toUpperCase()}${head.slice(1)}`, ...shown].join(" ");
}

const WORDS: Readonly<Record<string, (fields: Fields) => readonly unknown[]>> = {
  webhook: ({ auth }) => [auth === "url" ? "by its address" : ""],
  schedule: ({ cron, every, timezone }) => [
    every === undefined ? cron : `every ${every}`,
    timezone,
  ],
  file: ({ folder, path }) => [folder, path],
  knowledge: ({ vector_store: store }) => [store],
  workflow: ({ workflow, on }) => [
    workflow === "*" ? "any" : workflow,
    Array.isArray(on) ? on.join(" or ") : on,
  ],
  dataset: ({ dataset }) => [dataset],
};
