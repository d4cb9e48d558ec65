import { type Question, readQuestion } from "./read-question.ts";
import type { Turn } from "./turn.ts";
import { valueForSchema } from "./value-for-schema.ts";

const QUOTE_CHARACTERS = 200;
const COUNT_LIMIT = 10_000;

const closings = [
  "A real engine would answer here; everything around me is the real thing.",
  "I know nothing of the world, but your request arrived whole and in order.",
  "Point the gateway at a real engine and the same request gets a real answer.",
];

/**
 * Writes a short coherent reply. It repeats the text after "Say: …", obeys "count to N", follows a schema, and cites the
 * first passage that it was given.
 */
export function writeReply(turn: Turn, random: () => number): string {
  const last = turn.messages.at(-1);
  const question = readQuestion(lastSaid(turn));
  const { text: asked } = question;
  if (turn.schema) return writeJson(turn.schema, asked, random);
  if (last?.role === "tool") return reportResult(last.text);
  const said = /^(?:say|repeat after me|echo):\s*(.+)$/is.exec(asked)?.[1];
  if (said) return said;
  const count = Number(/\bcount to (\d{1,6})\b/i.exec(asked)?.[1] ?? 0);
  if (count > 0) return countTo(Math.min(count, COUNT_LIMIT));
  return introduce(turn, question, random);
}

function lastSaid({ messages }: Turn): string {
  return messages.findLast(({ role }) => role === "user")?.text.trim() ?? "";
}

function reportResult(result: string): string {
  const { passage } = readQuestion(result);
  if (passage === undefined) return `The tool answered: ${quote(result)} That is all I needed.`;
  return `The tool found ${cite(passage)} That is all I needed.`;
}

/** Writes the reasoning of a thinking model before its reply. */
export function writeReasoning(turn: Turn): string {
  const { text: asked } = readQuestion(lastSaid(turn));
  const help = turn.tools.length > 0 ? " Let me see whether one of the tools helps." : "";
  return `The user asks: ${quote(asked)}${help} I am a simulator, so I will say so and keep it short.`;
}

function introduce(turn: Turn, question: Question, random: () => number): string {
  const { text: asked, passage } = question;
  const images = turn.messages.reduce((sum, message) => sum + message.images, 0);
  const saw = images > 0 ? ` I also received ${images} image${images === 1 ? "" : "s"}.` : "";
  const closing = closings[Math.floor(random() * closings.length)];
  const heard = asked === "" ? "You asked nothing." : `You asked: ${quote(asked)}`;
  const found =
    passage === undefined ? "" : ` Among the passages that I was given is ${cite(passage)}`;
  return `Hello! I am the engine simulator, standing in for ${turn.model.name}. ${heard}${saw}${found} ${closing}`;
}

function cite({ number, text }: NonNullable<Question["passage"]>): string {
  return `${quote(text.replaceAll(/\s+/g, " "))} [${number}]`;
}

function writeJson(schema: Turn["schema"], asked: string, random: () => number): string {
  if (!schema || Object.keys(schema).length === 0) {
    return JSON.stringify({ answer: "I am the engine simulator.", asked });
  }
  const words = asked === "" ? [] : [asked.slice(0, 60)];
  return JSON.stringify(valueForSchema(schema, { root: schema, words, prompt: asked, random }));
}

function countTo(count: number): string {
  return `${Array.from({ length: count }, (_, index) => index + 1).join(", ")}.`;
}

/** Returns the text in quotation marks, with the end of a sentence. */
function quote(text: string): string {
  const characters = Array.from(text);
  const isLong = characters.length > QUOTE_CHARACTERS;
  const shown = isLong ? `${characters.slice(0, QUOTE_CHARACTERS).join("")}…` : text;
  return `“${shown}”${/[.?!…]$/.test(shown) ? "" : "."}`;
}
