import type { CaseReport } from "./report.ts";

export interface Run {
  readonly cases: readonly CaseReport[];
  readonly seed: string;
  /** For example `bun 1.4.5`. */
  readonly runtime: string;
  readonly seconds: number;
}

/** Builds the table of one run for the page. */
export function composeRun({ cases, seed, runtime, seconds }: Run): string {
  const told = cases.filter(
    ({ passed, failed, leftOut }) => passed + failed.length + leftOut.length > 0,
  );
  const rows = told.map(
    ({ id, title, loads, ...counts }) =>
      `| ${id} | ${cell(title)} | ${cell(loads.join("; "))} | ${cell(resultText(counts))} |`,
  );
  return [
    `On ${runtime}, seed ${seed}, ${Math.round(seconds)} s.`,
    "",
    "| case | what is done | load | result |",
    "|---|---|---|---|",
    ...rows,
  ].join("\n");
}

/** Replaces the text between the two markers of a section; the rest of the page is unchanged. */
export function replaceSection(page: string, section: string, text: string): string {
  const [begin, end] = [`<!-- ${section} -->`, `<!-- end of ${section} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no section ${section}`);
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`;
}

function resultText({
  passed,
  failed,
  figures,
  leftOut,
}: Pick<CaseReport, "passed" | "failed" | "figures" | "leftOut">): string {
  const parts = [
    ...(passed > 0 ? [`${passed} passed`] : []),
    ...(failed.length > 0 ? [`**${failed.length} failed**: ${failed.join(", ")}`] : []),
    ...figures,
    ...(leftOut.length > 0 ? [`not shown: ${leftOut.join(", ")}`] : []),
  ];
  return parts.join("; ") || "**not shown**";
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
