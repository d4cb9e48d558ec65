// Writes the section "What can be read" of docs/bi.md from the views of the schema `data`.
// usage: node --import tsx scripts/document-views.ts
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BuiltInView } from "../src/data/views/data-view.ts";
import { BUILT_IN_VIEWS } from "../src/data/views/registry.ts";

const HEADING = "## What can be read\n";
const PAGE = fileURLToPath(new URL("../docs/bi.md", import.meta.url));
const INTRODUCTION = `The schema \`data\` holds these tables, and one for each dataset, of its name and with its columns. They are views: nobody
can write to them. Columns are only ever added. Times are \`timestamptz\`; days are those of UTC.
`;

/** Returns the page with the section as the registry has it. */
export function withViews(page: string): string {
  const from = page.indexOf(HEADING);
  if (from === -1) throw new Error(`docs/bi.md has no heading "${HEADING.trim()}"`);
  const next = page.indexOf("\n## ", from + HEADING.length);
  const section = [HEADING, INTRODUCTION, ...BUILT_IN_VIEWS.map(sectionOf)].join("\n");
  return page.slice(0, from) + section + (next === -1 ? "" : page.slice(next));
}

function sectionOf({ name, comment, columns, key }: BuiltInView): string {
  const rows = columns.map(
    (column) =>
      `| \`${column.name}\` | ${column.type} | ${column.comment}${column.nullable ? " May be null." : ""} |`,
  );
  const title = `### ${name}\n\n${comment} A row is identified by ${key.map((one) => `\`${one}\``).join(", ")}.\n`;
  return [title, "| column | type | |", "|---|---|---|", ...rows, ""].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(PAGE, withViews(readFileSync(PAGE, "utf8")));
}
