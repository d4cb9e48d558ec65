import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { sql } from "@codemirror/lang-sql";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { classes } from "../ui/classes.ts";
import { HIGHLIGHTS, LOOK } from "./code-look.ts";

export interface CodeMark {
  /** Offsets in the text. */
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export interface CodeMirrorProps {
  /** Its name for readers. */
  readonly label: string;
  readonly language: "json" | "sql";
  readonly value: string;
  readonly onChange?: (value: string) => void;
  /** Faults, which are marked at their lines. */
  readonly marks?: readonly CodeMark[];
  /** A place to go to; another object goes there again. */
  readonly place?: { readonly offset: number } | undefined;
  readonly isReadOnly?: boolean;
  /** Fills the height of its place rather than growing with its text. */
  readonly isTall?: boolean;
}

const LANGUAGES = { json, sql };
const NO_MARKS: readonly CodeMark[] = [];

/**
 * CodeMirror in a shadow root: there its styles are sheets that are adopted, while the policy refuses the style elements
 * that it would put into the page.
 */
export function CodeMirror(props: CodeMirrorProps) {
  const { label, language, value, onChange, marks = NO_MARKS, place } = props;
  const { isReadOnly = onChange === undefined, isTall = false } = props;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const change = useRef(onChange);
  const first = useRef(value);
  useEffect(() => {
    change.current = onChange;
  });
  useEffect(() => {
    if (host.current === null) return;
    const made = openEditor(host.current, {
      ...{ label, language, value: first.current },
      onChange: (next) => change.current?.(next),
    });
    editor.current = made;
    return () => {
      first.current = made.view.state.doc.toString();
      made.view.destroy();
    };
  }, [label, language]);
  useEffect(() => editor.current?.setReadOnly(isReadOnly), [isReadOnly]);
  useEffect(() => setText(editor.current?.view, value), [value]);
  useEffect(() => mark(editor.current?.view, marks), [marks]);
  useEffect(() => {
    if (place !== undefined) goTo(editor.current?.view, place.offset);
  }, [place]);
  return (
    <div
      ref={host}
      data-editor={label}
      className={classes(
        "min-w-0 overflow-hidden rounded-md border border-edge bg-surface focus-within:border-accent",
        isTall ? "h-[60dvh] min-h-80" : "max-h-80 overflow-y-auto",
      )}
    />
  );
}

interface Editor {
  readonly view: EditorView;
  readonly setReadOnly: (isReadOnly: boolean) => void;
}

interface Opening {
  readonly label: string;
  readonly language: CodeMirrorProps["language"];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function openEditor(host: HTMLElement, { label, language, value, onChange }: Opening): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const access = new Compartment();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: value,
      extensions: [
        LANGUAGES[language](),
        BASE,
        access.of(EditorState.readOnly.of(false)),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => {
          const isOwn = update.transactions.some((one) => one.isUserEvent("program"));
          if (update.docChanged && !isOwn) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    view,
    setReadOnly: (isReadOnly) =>
      view.dispatch({ effects: access.reconfigure(EditorState.readOnly.of(isReadOnly)) }),
  };
}

const BASE: Extension = [
  lineNumbers(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  lintGutter(),
  syntaxHighlighting(HIGHLIGHTS),
  EditorView.lineWrapping,
  // Without Tab, which goes on to the next field.
  keymap.of([...defaultKeymap, ...historyKeymap]),
  LOOK,
];

/** Changes what differs only, so that the cursor stays where it is. */
function setText(view: EditorView | undefined, value: string): void {
  const now = view?.state.doc.toString();
  if (view === undefined || now === undefined || now === value) return;
  let from = 0;
  while (from < now.length && now[from] === value[from]) from += 1;
  let tail = 0;
  const most = Math.min(now.length, value.length) - from;
  while (tail < most && now.at(-1 - tail) === value.at(-1 - tail)) tail += 1;
  const insert = value.slice(from, value.length - tail);
  view.dispatch({ changes: { from, to: now.length - tail, insert }, userEvent: "program" });
}

function mark(view: EditorView | undefined, marks: readonly CodeMark[]): void {
  if (view === undefined) return;
  const end = view.state.doc.length;
  const shown = marks.map(
    ({ from, to, message }): Diagnostic => ({
      from: Math.min(from, end),
      to: Math.min(Math.max(from, to), end),
      severity: "error",
      message,
    }),
  );
  view.dispatch(setDiagnostics(view.state, shown));
}

function goTo(view: EditorView | undefined, offset: number): void {
  if (view === undefined) return;
  const anchor = Math.min(offset, view.state.doc.length);
  const effects = EditorView.scrollIntoView(anchor, { y: "center" });
  view.dispatch({ selection: { anchor }, effects });
  view.focus();
}
