import { useEffect, useRef } from "react";
import { takeTurn } from "../../ui/drawing/turns.ts";

/** Commands that a formula may expand to; a few lines of macros can ask for millions. */
const MAX_EXPANSIONS = 500;
const MAX_CHARACTERS = 8 * 1024;

/** A formula, as MathML: it needs neither style elements nor fonts, and readers can read it. */
export function AnswerFormula({
  text,
  display,
}: {
  readonly text: string;
  readonly display: boolean;
}) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let isGone = false;
    if (text.length > MAX_CHARACTERS) return;
    let takeBack: (() => void) | undefined;
    const render = (katex: typeof import("katex").default) => {
      if (place.current === null) return;
      try {
        katex.render(text, place.current, {
          ...{ displayMode: display, output: "mathml", throwOnError: true, strict: "ignore" },
          // No addresses, no pictures, no classes of the page.
          ...{ trust: false, maxExpand: MAX_EXPANSIONS, maxSize: 20 },
        });
      } catch {
        // What is no formula stays as it was written.
      }
    };
    void import("katex")
      .then(({ default: katex }) => {
        // An answer can have hundreds, which together would hold the page.
        if (!isGone) takeBack = takeTurn(() => render(katex));
      })
      .catch(() => undefined);
    return () => {
      isGone = true;
      takeBack?.();
    };
  }, [text, display]);
  return (
    <span ref={place} key={text} className={display ? "block overflow-x-auto py-1" : undefined}>
      {text}
    </span>
  );
}
