import type { CaseReport } from "./report.ts";

export interface Run {
  readonly cases: readonly CaseReport[];
  readonly seed: string;
  /** `bun 1.4.5` and the like. */
  readonly runtime: string;
  readonly seconds: number;
}

/** The table of one run, as the page has it. */
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

/** Puts a text between the two marks of a section; everything else of the page stays. */
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
