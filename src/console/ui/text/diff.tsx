import { type DiffPart, diffLines, diffWords } from "../../lib/diff.ts";
import { classes } from "../classes.ts";

interface DiffProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  /** Line by line, as code is read; else word by word. */
  readonly isCode?: boolean;
}

const LOOKS = {
  same: "",
  removed: "bg-bad-soft text-bad line-through decoration-1",
  added: "bg-ok-soft text-ok",
} as const;
const SIGNS = { same: " ", removed: "−", added: "+" } as const;
/** Unchanged lines that stay around a change. */
const CONTEXT = 3;

/** What was, and what is in its place. Beside the colour a sign or a line through it tells which is which. */
export function Diff({ label, before, after, isCode = false }: DiffProps) {
  const parts = isCode ? diffLines(before, after) : diffWords(before, after);
  if (parts.every(({ kind }) => kind === "same")) {
    return <p className="text-muted">{label} is unchanged.</p>;
  }
  return (
    <div className="grid min-w-0 gap-1">
      <p className="text-sm text-muted">{label}</p>
      {isCode ? <Lines label={label} parts={parts} /> : <Words parts={parts} />}
    </div>
  );
}

function Words({ parts }: { readonly parts: readonly DiffPart[] }) {
  return (
    <p className="break-words whitespace-pre-wrap">
      {parts.map(({ kind, text }, index) => {
        if (kind === "same") return text;
        const Mark = kind === "removed" ? "del" : "ins";
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other name
          <Mark key={index} className={classes("rounded-sm no-underline", LOOKS[kind])}>
            {text}
          </Mark>
        );
      })}
    </p>
  );
}

function Lines({ label, parts }: { readonly label: string; parts: readonly DiffPart[] }) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
      tabIndex={0}
      className="max-h-96 overflow-auto rounded-lg border border-line bg-sunken"
    >
      <pre className="w-max min-w-full py-2 font-mono text-sm">
        {parts.map(({ kind, text }, index) => {
          const Mark = { same: "span", removed: "del", added: "ins" }[kind] as "span";
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other name
            <Mark key={index} className={classes("block px-3 no-underline", LOOKS[kind])}>
              {linesOf(kind, text, index === 0, index === parts.length - 1)}
            </Mark>
          );
        })}
      </pre>
    </section>
  );
}

function linesOf(kind: DiffPart["kind"], text: string, isFirst: boolean, isLast: boolean): string {
  const lines = text.split("\n");
  const signed = (shown: readonly string[]) =>
    shown.map((line) => `${SIGNS[kind]} ${line}`).join("\n");
  const head = isFirst ? 0 : CONTEXT;
  const tail = isLast ? 0 : CONTEXT;
  const hidden = lines.length - head - tail;
  if (kind !== "same" || hidden <= CONTEXT) return signed(lines);
  const before = signed(lines.slice(0, head));
  const after = signed(lines.slice(lines.length - tail));
  const note = `  … ${hidden} unchanged lines`;
  return [before, note, tail === 0 ? "" : after].filter((piece) => piece !== "").join("\n");
}
