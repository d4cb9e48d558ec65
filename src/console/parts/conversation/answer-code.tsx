import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Button } from "../../ui/buttons/button.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";

type Highlight = typeof import("../../chat/highlight.ts").highlight;

/** What is shown of code before somebody asks for more: browsers take seconds for a line of megabytes. */
const SHOWN_CHARACTERS = 64 * 1024;
const SHOWN_LINES = 2_000;

let loaded: Highlight | undefined;

interface AnswerCodeProps {
  readonly text: string;
  readonly language: string;
  /** More of it may come. */
  readonly isOpen?: boolean | undefined;
}

/** Code of an answer, in colours once these have been loaded; they come with the first code there is. */
export function AnswerCode({ text, language, isOpen = false }: AnswerCodeProps) {
  const [highlight, setHighlight] = useState<Highlight | undefined>(() => loaded);
  useEffect(() => {
    if (highlight !== undefined || language === "") return;
    let isGone = false;
    void import("../../chat/highlight.ts")
      .then((module) => {
        loaded = module.highlight;
        if (!isGone) setHighlight(() => module.highlight);
      })
      // Without colours the code is as good.
      .catch(() => undefined);
    return () => {
      isGone = true;
    };
  }, [highlight, language]);
  const [steps, setSteps] = useState(1);
  const shown = beginOf(text, steps);
  // Colours are found for all of the code anew, so a line that grows has none until it ends.
  const ended = isOpen ? shown.slice(0, shown.lastIndexOf("\n") + 1) : shown;
  const coloured = useMemo(
    (): ReactNode => highlight?.(ended, language),
    [highlight, ended, language],
  );
  return (
    <>
      <CodeBlock text={text} label={language === "" ? "Code" : `Code, ${language.slice(0, 32)}`}>
        {coloured ?? ended}
        {shown.slice(ended.length)}
      </CodeBlock>
      {shown.length < text.length && (
        <Button onClick={() => setSteps(steps + 1)}>Show more of this code</Button>
      )}
    </>
  );
}

/** Returns the first lines of code, as many as are laid out at once. It is copied whole. */
function beginOf(text: string, steps: number): string {
  const most = text.slice(0, steps * SHOWN_CHARACTERS);
  let end = -1;
  for (let line = 0; line < steps * SHOWN_LINES; line += 1) {
    end = most.indexOf("\n", end + 1);
    if (end < 0) return most;
  }
  return most.slice(0, end);
}
