import type { RowProgram } from "../row-program.ts";

/** Each loads its libraries only when it is needed: a process starts in a fraction of the time. */
const PROGRAMS: Readonly<Record<string, () => Promise<RowProgram>>> = {
  aggregate: async () => (await import("./aggregate.ts")).aggregateRows,
  any: async () => (await import("./any.ts")).anyRow,
  check: async () => (await import("./check.ts")).checkExpressions,
  dedupe: async () => (await import("./dedupe.ts")).dedupeRows,
  evaluate: async () => (await import("./evaluate.ts")).evaluateTemplates,
  explode: async () => (await import("./explode.ts")).explodeRows,
  filter: async () => (await import("./filter.ts")).filterRows,
  join: async () => (await import("./join.ts")).joinRows,
  limit: async () => (await import("./limit.ts")).limitRows,
  map: async () => (await import("./map.ts")).mapRows,
  parse: async () => (await import("./parse.ts")).parseText,
  read_file: async () => (await import("./read-file.ts")).readFiles,
  rewrite: async () => (await import("./parse.ts")).rewriteText,
  select: async () => (await import("./select.ts")).selectFields,
  sort: async () => (await import("./sort.ts")).sortRows,
  sql: async () => (await import("./sql.ts")).queryRows,
  validate: async () => (await import("./validate.ts")).validateRows,
};

export async function findProgram(name: string): Promise<RowProgram> {
  const load = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
  if (load === undefined) throw new Error(`There is no program '${name}'.`);
  return await load();
}
