import type { ToolRunPart } from "../../chat/chat-document.ts";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { Duration } from "../../ui/text/count.tsx";
import { LongText } from "../../ui/text/long-text.tsx";

const WORDS = { running: "running", ok: "ok", error: "failed" } as const;
const LOOKS = { running: "accent", ok: "ok", error: "bad" } as const;

/** A tool that ran for an answer: its name and end, and behind a click what went in and what came out. */
export function ToolRun({ run }: { readonly run: ToolRunPart }) {
  const { name, status, duration_ms: milliseconds, arguments: given, result } = run;
  return (
    <details className="rounded-md border border-line px-3 py-2">
      <summary className="cursor-pointer">
        <span className="inline-flex flex-wrap items-center gap-2">
          <span className="font-mono text-sm break-all">{name}</span>
          <StatusDot tone={LOOKS[status]}>{WORDS[status]}</StatusDot>
          {milliseconds !== undefined && <Duration value={milliseconds} />}
        </span>
      </summary>
      <Text label="Arguments" text={given} />
      <Text label="Result" text={result} />
      {given === undefined && result === undefined && (
        <p className="mt-2 text-sm text-muted">Nothing more is known of this run.</p>
      )}
    </details>
  );
}

function Text({ label, text }: { readonly label: string; readonly text: string | undefined }) {
  if (text === undefined || text === "") return null;
  return (
    <>
      <p className="mt-2 text-sm text-muted">{label}</p>
      <div className="max-h-[15rem] overflow-auto">
        <LongText text={text} what="text" isCode />
      </div>
    </>
  );
}
