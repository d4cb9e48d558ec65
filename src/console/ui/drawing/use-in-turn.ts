import { useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { takeTurn } from "./turns.ts";

/**
 * Returns a value that may reach the screen a moment late. Where a page has many of those that show it, a change does not
 * draw all of them at once: each is drawn in a turn of its own.
 */
export function useInTurn<Value extends string | undefined>(value: Value): Value {
  const [shown, show] = useState(value);
  useEffect(
    () => (value === shown ? undefined : takeTurn(() => flushSync(() => show(value)))),
    [value, shown],
  );
  return shown;
}
