import { useEffect, useRef, useState } from "react";

const REPEAT_MS = 7_000;

/** What a screen reader is told of an answer: that it began, that it goes on, that it has ended. Never its words. */
export function useSpokenStatus(isAnswering: boolean): string {
  const [text, setText] = useState("");
  const hasBegun = useRef(false);
  useEffect(() => {
    if (!isAnswering) {
      if (hasBegun.current) setText("The answer has ended.");
      return;
    }
    hasBegun.current = true;
    setText("The model answers.");
    let count = 0;
    const timer = setInterval(() => {
      count += 1;
      // Readers say a text only when it changes.
      setText(count % 2 === 0 ? "The model still answers." : "The answer goes on.");
    }, REPEAT_MS);
    return () => clearInterval(timer);
  }, [isAnswering]);
  return text;
}
