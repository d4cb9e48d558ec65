import { type ReactNode, useEffect, useState } from "react";
import { CodeBlock } from "../ui/code-block.tsx";

type Highlight = typeof import("../chat/highlight.ts").highlight;

let loaded: Highlight | undefined;

/** Code of an answer, in colours once these have been loaded; they come with the first code there is. */
export function AnswerCode({
  text,
  language,
}: {
  readonly text: string;
  readonly language: string;
}) {
  const [highlight, setHighlight] = useState<Highlight | undefined>(() => loaded);
  useEffect(() => {
    if (highlight !== undefined || language === "") return;
    let isGone = false;
    void import("../chat/highlight.ts")
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
  const coloured: ReactNode = highlight?.(text, language);
  return (
    <CodeBlock text={text} label={language === "" ? "Code" : `Code, ${language.slice(0, 32)}`}>
      {coloured ?? text}
    </CodeBlock>
  );
}
