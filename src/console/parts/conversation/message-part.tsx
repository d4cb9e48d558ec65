import { memo, type ReactNode, Suspense } from "react";
import type { MessagePart } from "../../chat/chat-document.ts";
import { safePicture } from "../../chat/safe-link.ts";
import { classes } from "../../ui/classes.ts";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Duration } from "../../ui/text/count.tsx";
import { LongText } from "../../ui/text/long-text.tsx";
import { Sources } from "./sources.tsx";
import { ToolRun } from "./tool-run.tsx";

// Asked for at once, but shown without it until it is there: the page itself is small.
const loading = import("./markdown.tsx").then(({ Markdown }) => Markdown);
// What is not there when it is needed is shown as it was written.
loading.catch(() => undefined);
const Markdown = lazyPart(() => loading, Words);

interface MessagePartProps {
  readonly part: MessagePart;
  readonly isQuestion: boolean;
}

/** One part of a message. Whatever it holds, no more of it is drawn than a page can lay out at once. */
export const MessagePartView = memo(function MessagePartView(props: MessagePartProps) {
  const { part, isQuestion } = props;
  switch (part.type) {
    case "text":
      return isQuestion ? <Words text={part.text} /> : <Answer text={part.text} />;
    case "image": {
      const source = safePicture(part.data);
      if (source === undefined) return <p className="text-muted">A picture that cannot be shown</p>;
      return (
        <img
          src={source}
          alt={part.name ?? "Attached picture"}
          className="max-h-[20rem] max-w-full rounded-md"
        />
      );
    }
    case "file":
      return (
        <Folded summary={`File ${part.name}`}>
          <div className="mt-2 max-h-[20rem] overflow-auto">
            <LongText text={part.text} what="file" isCode />
          </div>
        </Folded>
      );
    case "thinking":
      return (
        <Folded summary={<Thought ms={part.ms} />} isMuted>
          <div className="mt-2 grid gap-2">
            <Words text={part.text} />
          </div>
        </Folded>
      );
    case "tool_run":
      return <ToolRun run={part} />;
    case "sources":
      return <Sources sources={part.sources} />;
    default:
      return <p className="text-muted">A part of a later release, kept but not shown</p>;
  }
});

interface FoldedProps {
  readonly summary: ReactNode;
  readonly isMuted?: boolean;
  readonly children: ReactNode;
}

function Folded({ summary, isMuted = false, children }: FoldedProps) {
  return (
    <details
      className={classes("rounded-md border border-line px-3 py-2", isMuted && "text-muted")}
    >
      <summary>{summary}</summary>
      {children}
    </details>
  );
}

function Thought({ ms }: { readonly ms: number | undefined }) {
  if (ms === undefined) return "Thought";
  return (
    <>
      Thought for <Duration value={ms} />
    </>
  );
}

function Answer({ text }: { readonly text: string }) {
  return (
    <Suspense fallback={<Words text={text} />}>
      <Markdown text={text} />
    </Suspense>
  );
}

function Words({ text }: { readonly text: string }) {
  return <LongText text={text} what="text" />;
}
