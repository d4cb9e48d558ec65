/** A text that is typed and changed by forms, with the texts before. */
export interface TextHistory {
  readonly text: string;
  /** The texts before it, which are returned to one by one. */
  readonly past: readonly string[];
  /** It was typed last: what is typed on is the same change. */
  readonly isTyped: boolean;
}

const MOST_UNDONE = 100;

export function beginHistory(text: string): TextHistory {
  return { text, past: [], isTyped: false };
}

/** Takes a text as it is typed. All that is typed in a row is one change. */
export function typeText(history: TextHistory, text: string): TextHistory {
  if (text === history.text) return history;
  return history.isTyped ? { ...history, text } : changed(history, { text, isTyped: true });
}

/** Takes a text that a form or the graph has changed. */
export function editText(history: TextHistory, text: string): TextHistory {
  return text === history.text ? history : changed(history, { text, isTyped: false });
}

/** Returns to the text before the last change, where there is one. */
export function undoChange({ text, past }: TextHistory): TextHistory {
  return { text: past.at(-1) ?? text, past: past.slice(0, -1), isTyped: false };
}

function changed(
  { text, past }: TextHistory,
  next: Pick<TextHistory, "text" | "isTyped">,
): TextHistory {
  return { ...next, past: [...past, text].slice(-MOST_UNDONE) };
}
