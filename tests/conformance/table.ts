import { BACKENDS, type BackendName } from "./backends.ts";
import type { Family } from "./question.ts";
import type { Note } from "./scenario.ts";

export interface Result {
  readonly scenario: string;
  readonly family: Family["name"];
  readonly backend: BackendName;
  readonly stream: boolean;
  readonly note: Note;
}

const MARKS: Readonly<Record<Note, string>> = {
  works: "✓",
  ignored: "ignored",
  "no such parameter": "–",
  "not told": "not told",
};

const HEAD = `# Conformance

Three client families on six backends: every cell was run, whole and streamed, against the real server and a simulator
that refuses what the real vendor refuses. The judges are the official \`openai\` and \`@anthropic-ai/sdk\` libraries;
answers reach them cut at random places. This page is written by the tests (\`CONFORMANCE_WRITE=1 npm test --
tests/conformance\`), which fail when it is not true.

**✓** works · **ignored** as README says of parameters on clouds · **–** the family has no such parameter ·
**not told** by the engine, so that nothing can be passed on. One word holds for the whole answer and for the stream. The keys are
passthrough keys but where it says otherwise.
`;

/** The page for these results. */
export function renderTable(results: readonly Result[], order: readonly string[]): string {
  const names = BACKENDS.map(({ name }) => name);
  const lines = order.flatMap((scenario) =>
    (["chat", "messages", "responses"] as const).map((family, index) => {
      const cells = names.map((backend) => {
        const found = results.filter(
          (result) =>
            result.scenario === scenario && result.family === family && result.backend === backend,
        );
        return renderCell(found);
      });
      return `| ${[index === 0 ? scenario : "", family, ...cells].join(" | ")} |`;
    }),
  );
  const head = `| scenario | family | ${names.join(" | ")} |`;
  const rule = `|${"---|".repeat(names.length + 2)}`;
  return `${HEAD}\n${[head, rule, ...lines].join("\n")}\n\n${results.length} cells.\n`;
}

function renderCell(results: readonly Result[]): string {
  const of = (stream: boolean) => {
    const result = results.find((each) => each.stream === stream);
    return result === undefined ? "FAILED" : MARKS[result.note];
  };
  const [whole, streamed] = [of(false), of(true)];
  return whole === streamed ? whole : `${whole} / ${streamed}`;
}
