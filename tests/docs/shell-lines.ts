import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** One command of a document that a reader pastes, with the comments before it. */
export interface PastedLine {
  /** From the root of the project. */
  readonly file: string;
  /** Of its first line. */
  readonly line: number;
  readonly text: string;
  /** What runs it: a shell, cron by a table's entry, or a runtime that takes the whole block as a program. */
  readonly by: "shell" | "cron" | "runtime";
  /** Which block of its document it stands in. */
  readonly block: number;
}

const FENCE = /^```(\w*)\s*$/;
const LANGUAGES: ReadonlyMap<string, PastedLine["by"]> = new Map([
  ["sh", "shell"],
  ["shell", "shell"],
  ["bash", "shell"],
  ["crontab", "cron"],
  ["ts", "runtime"],
]);

/** The commands of README.md and docs, in the order in which a reader comes to them. */
export function readPastedLines(): readonly PastedLine[] {
  const documents = readdirSync("docs").filter((name) => name.endsWith(".md"));
  return ["README.md", ...documents.sort().map((name) => `docs/${name}`)].flatMap(linesOf);
}

function linesOf(file: string): readonly PastedLine[] {
  return blocksOf(file).flatMap(({ by, lines }, block) =>
    commandsOf(lines, by, file).map((command) => ({ file, by, block, ...command })),
  );
}

interface Block {
  readonly by: PastedLine["by"];
  /** With their numbers in the document. */
  readonly lines: { readonly line: number; readonly text: string }[];
}

function blocksOf(file: string): readonly Block[] {
  const blocks: Block[] = [];
  let isInBlock = false;
  let open: Block | undefined;
  for (const [index, text] of readFileSync(file, "utf8").split("\n").entries()) {
    const language = FENCE.exec(text)?.[1];
    if (language === undefined) {
      open?.lines.push({ line: index + 1, text });
      continue;
    }
    isInBlock = !isInBlock;
    const by = isInBlock ? LANGUAGES.get(language) : undefined;
    open = by && { by, lines: [] };
    if (open !== undefined) blocks.push(open);
  }
  return blocks;
}

function commandsOf(lines: Block["lines"], by: PastedLine["by"], file: string): Block["lines"] {
  if (by === "runtime") return programsOf(lines);
  const commands: Block["lines"] = [];
  let begun: Block["lines"][number] | undefined;
  for (const { line, text } of lines) {
    if (begun === undefined && isNoCommand(text)) continue;
    begun = begun === undefined ? { line, text } : { ...begun, text: `${begun.text}\n${text}` };
    if (by === "shell" && !isWhole(begun.text)) continue;
    commands.push(begun);
    begun = undefined;
  }
  if (begun !== undefined) throw new Error(`${file}:${begun.line}: the command has no end`);
  return commands;
}

/** A block without an import is a part of a program, which shows only how to call something. */
function programsOf(lines: Block["lines"]): Block["lines"] {
  const [first] = lines;
  if (first === undefined || !first.text.startsWith("import ")) return [];
  return [{ line: first.line, text: lines.map(({ text }) => text).join("\n") }];
}

function isNoCommand(text: string): boolean {
  return text.trim() === "" || text.trimStart().startsWith("#");
}

/** A shell would not wait for more of it. */
function isWhole(text: string): boolean {
  return !text.endsWith("\\") && spawnSync("bash", ["-n"], { input: text }).status === 0;
}
