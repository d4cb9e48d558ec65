// Lists every log line and every error text of the source for review.
// usage: node --import tsx scripts/list-messages.ts > messages.md
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const SOURCE = "src";
const LEVELS: ReadonlySet<string> = new Set(["debug", "info", "warn", "error", "fatal"]);
/** Classes whose text reaches a client or an operator, with the position of the text argument. */
const ERRORS: ReadonlyMap<string, number> = new Map([
  ["ServiceError", 1],
  ["StartRefusal", 0],
  ["SettingsError", 0],
  ["BackupError", 0],
  ["UsageError", 0],
]);

interface Message {
  readonly kind: string;
  readonly text: string;
  readonly place: string;
}

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .sort();
const messages = files.flatMap((name) => messagesOf(join(SOURCE, name)));
for (const title of ["log", "error"] as const) {
  const own = messages.filter(({ kind }) => (kind.startsWith("log.") ? "log" : "error") === title);
  console.log(`## ${title === "log" ? "Log lines" : "Errors"} (${own.length})\n`);
  for (const { kind, text, place } of own) console.log(`- ${kind}: ${text}  \`${place}\``);
  console.log();
}

function messagesOf(file: string): Message[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(file, "utf8"),
    ts.ScriptTarget.Latest,
    true,
  );
  const found: Message[] = [];
  const visit = (node: ts.Node): void => {
    const message = logLine(node) ?? errorText(node);
    if (message !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push({ ...message, place: `${file}:${line + 1}` });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function logLine(node: ts.Node): Omit<Message, "place"> | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression))
    return undefined;
  const { expression, name } = node.expression;
  if (!LEVELS.has(name.text) || !/\blog$/i.test(expression.getText())) return undefined;
  const text = node.arguments.at(-1);
  return text && { kind: `log.${name.text}`, text: plain(text) };
}

function errorText(node: ts.Node): Omit<Message, "place"> | undefined {
  if (!ts.isNewExpression(node)) return undefined;
  const name = node.expression.getText();
  const position = ERRORS.get(name);
  const text = position === undefined ? undefined : node.arguments?.[position];
  if (text === undefined) return undefined;
  const code = position === 1 ? node.arguments?.[0]?.getText().replaceAll('"', "") : undefined;
  return { kind: code ?? name, text: plain(text) };
}

/** Returns the text, with interpolated expressions in braces. */
function plain(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isBinaryExpression(node)) return plain(node.left) + plain(node.right);
  if (ts.isTemplateExpression(node)) {
    const spans = node.templateSpans.map(
      ({ expression, literal }) => `{${expression.getText()}}${literal.text}`,
    );
    return node.head.text + spans.join("");
  }
  return `{${node.getText().replaceAll(/\s+/g, " ")}}`;
}
