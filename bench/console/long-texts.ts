import { tokenize } from "../../simulator/content/tokenizer.ts";

const WORDS =
  "the pump runs dry when its inlet valve stays closed and the sensor reads no pressure before the controller stops it".split(
    " ",
  );

/** An answer, and at which of its tokens each of its marks (`§12;`) is complete. */
export interface LongText {
  readonly text: string;
  readonly tokens: number;
  /** By the number of the mark. */
  readonly marks: readonly number[];
}

/** Writes an answer of at least so many tokens, with everything that answers are made of. */
export function writeLongText(least: number): LongText {
  let text = "";
  let marks = 0;
  const mark = () => `§${marks++};`;
  const sentence = (words: number, from: number) =>
    Array.from({ length: words }, (_, index) => WORDS[(from + index * 7) % WORDS.length]).join(" ");
  for (let section = 1, tokens = 0; tokens < least; section += 1) {
    const lines = (count: number, line: (at: number) => string) =>
      Array.from({ length: count }, (_, at) => line(at)).join("\n");
    const added = [
      `## Section ${section} ${mark()}`,
      `${sentence(30, section)} **${sentence(3, 2)}** ${mark()} ${sentence(30, 5)} \`code ${section}\` ${mark()}`,
      lines(
        5,
        (at) => `- ${sentence(8, at)}, see [the manual](https://docs.example/${at}) ${mark()}`,
      ),
      `| Part | Limit | Note |\n|---|--:|---|\n${lines(6, (at) => `| Part ${at} | ${at * 12} | ${sentence(4, at)} ${mark()} |`)}`,
      `\`\`\`ts\n${lines(10, (at) => `const part${at} = readPart(${at}, { limit: ${at * 3} }); // ${mark()}`)}\n\`\`\``,
      `The pressure is $p = \\frac{F}{A}$ and its loss ${mark()}\n\n$$\\Delta p = \\lambda \\frac{l}{d} \\frac{\\rho v^2}{2}$$`,
    ].join("\n\n");
    text += `${added}\n\n`;
    tokens += tokenize(added).length;
  }
  text += `The end ${mark()}`;
  const all = tokenize(text);
  return { text, tokens: all.length, marks: findMarks(all) };
}

function findMarks(tokens: readonly string[]): readonly number[] {
  const marks: number[] = [];
  let open = "";
  for (const [index, token] of tokens.entries()) {
    open = token.includes("§") ? token : open + token;
    const found = /^ ?§(\d+);/.exec(open.slice(0, 16))?.[1];
    if (found === undefined || marks[Number(found)] !== undefined) continue;
    marks[Number(found)] = index + 1;
  }
  return marks;
}

/** A stored chat of so many messages, every second one a long answer. */
export function writeLongChat(messages: number, model: string) {
  const answer = writeLongText(800).text.replaceAll(/ ?§\d+;/g, "");
  const entries = Array.from({ length: messages }, (_, index) => {
    const isQuestion = index % 2 === 0;
    const text = isQuestion ? `What does E-${index} mean, and what is to be done?` : answer;
    const message = {
      ...{ parent: index === 0 ? null : `m${index}`, role: isQuestion ? "user" : "assistant" },
      ...{ parts: [{ type: "text", text }], at: 1_790_000_000_000 + index, state: "done" },
      ...(!isQuestion && { model }),
    };
    return [`m${index + 1}`, message] as const;
  });
  return {
    ...{ version: 1, model, system: "", parameters: {}, leaf: `m${messages}` },
    messages: Object.fromEntries(entries),
  };
}
