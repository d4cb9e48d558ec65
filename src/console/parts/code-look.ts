import { defaultHighlightStyle, HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";

/** How the editor looks: the tokens of the page reach into its shadow root. */

export const LOOK = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: '"JetBrains Mono Variable", ui-monospace, monospace',
    fontSize: "13px",
    lineHeight: "20px",
    overflow: "auto",
  },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--sunken)",
    color: "var(--muted)",
    borderRight: "1px solid var(--line)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--accent-soft)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-lint-marker-error": { content: "none" },
  ".cm-lint-marker": { width: "8px", height: "8px", margin: "6px 2px", borderRadius: "50%" },
  ".cm-gutter-lint .cm-lint-marker-error": { backgroundColor: "var(--bad)" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    font: "13px / 18px var(--font-sans)",
    maxWidth: "28rem",
  },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
});

/** By the colours of the style that it changes: its names for kinds of words are in a package of their own. */
const COLOURS: Readonly<Record<string, string>> = {
  "#708": "var(--accent)",
  "#219": "var(--warn)",
  "#164": "var(--warn)",
  "#a11": "var(--ok)",
  "#e40": "var(--ok)",
  "#940": "var(--muted)",
};

export const HIGHLIGHTS = HighlightStyle.define(
  defaultHighlightStyle.specs.map((spec) => ({
    ...spec,
    color: COLOURS[String(spec["color"])] ?? "var(--text)",
  })),
);
